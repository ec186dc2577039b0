-- Ascon-AEAD128 (NIST SP 800-232), to open frames. A word of 64 bits is two numbers of 32, the lower first.

local bits = bit32 or bit
if not bits then
    -- Newer interpreters have operators instead, which older ones cannot even read.
    bits = load([[return {
        bxor = function(a, b) return a ~ b end,
        band = function(a, b) return a & b end,
        bnot = function(a) return ~a & 0xffffffff end,
        lshift = function(a, by) return a << by & 0xffffffff end,
        rshift = function(a, by) return a >> by end,
        bor = function(a, b) return a | b end,
    }]])()
end
local bxor, band, bnot, bor, lshift, rshift = bits.bxor, bits.band, bits.bnot, bits.bor, bits.lshift, bits.rshift

-- Rotates a word to the right by so many bits.
local function rotated(low, high, by)
    if by >= 32 then low, high, by = high, low, by - 32 end
    if by == 0 then return low, high end
    return bor(rshift(low, by), lshift(high, 32 - by)), bor(rshift(high, by), lshift(low, 32 - by))
end

-- By how much the words are rotated in the linear layer.
local ROTATIONS = { { 19, 28 }, { 61, 39 }, { 1, 6 }, { 10, 17 }, { 7, 41 } }

-- Permutes a state of five words, lower halves in `low`, upper ones in `high`.
local function permute(low, high, rounds)
    for round = 12 - rounds, 11 do
        low[3] = bxor(low[3], (15 - round) * 16 + round)
        for _, half in ipairs { low, high } do
            half[1], half[5], half[3] = bxor(half[1], half[5]), bxor(half[5], half[4]), bxor(half[3], half[2])
            local mixed = {}
            for at = 1, 5 do
                mixed[at] = bxor(half[at], band(bnot(half[at % 5 + 1]), half[(at + 1) % 5 + 1]))
            end
            half[1], half[2], half[3], half[4], half[5] = bxor(mixed[1], mixed[5]), bxor(mixed[2], mixed[1]),
                bnot(mixed[3]), bxor(mixed[4], mixed[3]), mixed[5]
        end
        for at, by in ipairs(ROTATIONS) do
            local first_low, first_high = rotated(low[at], high[at], by[1])
            local second_low, second_high = rotated(low[at], high[at], by[2])
            low[at] = bxor(bxor(low[at], first_low), second_low)
            high[at] = bxor(bxor(high[at], first_high), second_high)
        end
    end
end

-- Four bytes of a list, the lowest first, as a number.
local function word(bytes, from)
    return bor(bor(bytes[from], lshift(bytes[from + 1], 8)),
        bor(lshift(bytes[from + 2], 16), lshift(bytes[from + 3], 24)))
end

-- A state after its first permutation, and the words of the key.
local function keyed(key, nonce)
    local k = { word(key, 1), word(key, 5), word(key, 9), word(key, 13) }
    local low = { 0x808c0001, k[1], k[3], word(nonce, 1), word(nonce, 9) }
    local high = { 0x00001000, k[2], k[4], word(nonce, 5), word(nonce, 13) }
    permute(low, high, 12)
    low[4], high[4], low[5], high[5] = bxor(low[4], k[1]), bxor(high[4], k[2]), bxor(low[5], k[3]), bxor(high[5], k[4])
    return k, low, high
end

-- Derives the key of a group with one member more: what zeros encrypt to.
local function derived(key, member)
    local nonce = {}
    for at = 0, 15 do nonce[at + 1] = at < 4 and math.floor(member / 256 ^ at) % 256 or at < 12 and 0 or 255 end
    local _, low, high = keyed(key, nonce)
    local bytes = {}
    for _, half in ipairs { low[1], high[1], low[2], high[2] } do
        for at = 0, 3 do bytes[#bytes + 1] = band(rshift(half, 8 * at), 0xff) end
    end
    return bytes
end

-- Opens the text, a list of bytes, with a key of 16 bytes; returns nothing where the tag is not that of header and text.
local function open_with(key, nonce, header, text, tag)
    local k, low, high = keyed(key, nonce)

    -- The place of a byte in the block: which half of which word, and its lowest bit there.
    local function place(at)
        return at % 8 < 4 and low or high, math.floor(at / 8) + 1, at % 4 * 8
    end
    local function add(at, byte)
        local half, index, by = place(at)
        half[index] = bxor(half[index], lshift(byte, by))
    end

    local at = 0
    local function next_place()
        at = (at + 1) % 16
        if at == 0 then permute(low, high, 8) end
    end
    for _, byte in ipairs(header) do
        add(at, byte)
        next_place()
    end
    add(at, 1)
    permute(low, high, 8)
    high[5] = bxor(high[5], 0x80000000)
    at = 0
    local opened = {}
    for index, byte in ipairs(text) do
        local half, of, by = place(at)
        opened[index] = bxor(byte, band(rshift(half[of], by), 0xff))
        add(at, opened[index])
        next_place()
    end
    add(at, 1)
    low[3], high[3], low[4], high[4] = bxor(low[3], k[1]), bxor(high[3], k[2]), bxor(low[4], k[3]), bxor(high[4], k[4])
    permute(low, high, 12)
    local made_low, made_high = bxor(low[4], k[1]), bxor(high[4], k[2])
    if bxor(made_low, word(tag, 1)) ~= 0 or bxor(made_high, word(tag, 5)) ~= 0 then return nil end
    return opened
end
