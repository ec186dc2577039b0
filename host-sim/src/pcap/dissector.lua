-- Conclave frames in Wireshark and tshark. This file is printed by `conclave dissector`.
--
-- Frames are found by the PAN id of the radio or by the UDP port; both are preferences of the protocol "CONCLAVE".
-- Frames are opened with the keys below, and with those of the preference "Keys". The body of every kind is read by its
-- shape, which the program took from its own types. A group whose list of members changes has a key for each list: it
-- is derived from the key of the group when a frame names the list.

local VERSION = 2
local TAG_BYTES = 8
-- Frames about lists of members: their version, their kind, and the only member of the group whose key seals them.
local LISTS_VERSION, LISTS_KIND, NOBODY = 10, 31, 0xffffffff

--[[CIPHER]]
local KEYS = {
--[[KEYS]]
}
-- The keys of groups that may change.
local GROUPS = {
--[[GROUPS]]
}

-- Shapes. A shape is a table whose `read` adds a value to the tree, and whose `declare` names its fields.

local fields, by_path = {}, {}

local function declare(path, make)
    if not by_path[path] then
        by_path[path] = make(path)
        fields[#fields + 1] = by_path[path]
    end
end

-- A cursor stands at `at` in the bytes before `stop`. Reading beyond is the error `MALFORMED`.
local MALFORMED = {}

local function byte(cursor)
    if cursor.at >= cursor.stop then error(MALFORMED) end
    local value = cursor.tvb(cursor.at, 1):uint()
    cursor.at = cursor.at + 1
    return value
end

-- Reads a varint; returns its lower and upper 32 bits.
local function varint(cursor)
    local low, high, shift = 0, 0, 0
    repeat
        local next = byte(cursor)
        local bits = next % 128
        if shift < 28 then
            low = low + bits * 2 ^ shift
        elseif shift == 28 then
            low, high = low + (bits % 16) * 2 ^ 28, math.floor(bits / 16)
        elseif shift < 64 then
            high = high + bits * 2 ^ (shift - 32)
        else
            error(MALFORMED)
        end
        shift = shift + 7
    until next < 128
    if high >= 2 ^ 32 then error(MALFORMED) end
    return low, high
end

-- Reads a varint of at most 32 bits.
local function number(cursor)
    local low, high = varint(cursor)
    if high > 0 then error(MALFORMED) end
    return low
end

local function add(tree, path, cursor, from, ...)
    return tree:add(by_path[path], cursor.tvb(from, cursor.at - from), ...)
end

local function label(path)
    return (path:match("[^.]+$"):gsub("_", " "))
end

local UNIT = { read = function() end, declare = function() end }

local BOOL = {
    declare = function(path)
        declare(path, function() return ProtoField.bool(path, label(path)) end)
    end,
    read = function(cursor, tree, path)
        local from, value = cursor.at, byte(cursor)
        if value > 1 then error(MALFORMED) end
        add(tree, path, cursor, from, value == 1)
    end,
}

local BYTE = {
    declare = function(path)
        declare(path, function() return ProtoField.uint8(path, label(path)) end)
    end,
    read = function(cursor, tree, path)
        local from, value = cursor.at, byte(cursor)
        add(tree, path, cursor, from, value)
    end,
}

local UNSIGNED = {
    declare = function(path)
        declare(path, function() return ProtoField.uint64(path, label(path)) end)
    end,
    read = function(cursor, tree, path)
        local from = cursor.at
        local low, high = varint(cursor)
        return add(tree, path, cursor, from, UInt64(low, high)), low, high
    end,
}

local SIGNED = {
    declare = function(path)
        declare(path, function() return ProtoField.int64(path, label(path)) end)
    end,
    read = function(cursor, tree, path)
        local from = cursor.at
        local low, high = varint(cursor)
        -- Zigzag: the lowest bit is the sign.
        local negative = low % 2 == 1
        low, high = math.floor(low / 2) + (high % 2) * 2 ^ 31, math.floor(high / 2)
        local value = Int64(low, high)
        if negative then value = -value - Int64(1) end
        add(tree, path, cursor, from, value)
    end,
}

local BYTES = {
    declare = function(path)
        declare(path, function() return ProtoField.bytes(path, label(path)) end)
    end,
    read = function(cursor, tree, path)
        local length = number(cursor)
        local from = cursor.at
        if from + length > cursor.stop then error(MALFORMED) end
        cursor.at = from + length
        if length > 0 then tree:add(by_path[path], cursor.tvb(from, length)) end
    end,
}

-- The slots of a set, in words, and how many there are.
local function slots(low, high)
    local found = {}
    for slot = 0, 63 do
        local word = slot < 32 and low or high
        if math.floor(word / 2 ^ (slot % 32)) % 2 == 1 then found[#found + 1] = slot end
    end
    return #found == 0 and "nobody" or "slots " .. table.concat(found, ", "), #found
end

-- The five lowest bits of a number.
local function flags(number)
    local function bit(at) return math.floor(number / 2 ^ at) % 2 == 1 end
    return bit(0), bit(1), bit(2), bit(3), bit(4)
end

-- A type of one number, whose name says what it means.
local function named(name, inner)
    return {
        declare = function(path)
            if name == "NodeSet" then
                declare(path, function() return ProtoField.uint64(path, label(path), base.HEX) end)
            else
                inner.declare(path)
            end
        end,
        read = function(cursor, tree, path)
            local item, low, high = inner.read(cursor, tree, path)
            if name == "NodeSet" then item:append_text(" (" .. (slots(low, high)) .. ")") end
            if name == "Duration" then item:append_text(" us") end
        end,
    }
end

local function maybe(inner)
    return {
        declare = inner.declare,
        read = function(cursor, tree, path)
            local present = byte(cursor)
            if present > 1 then error(MALFORMED) end
            if present == 1 then inner.read(cursor, tree, path) end
        end,
    }
end

-- A part of the tree that holds others.
local function group(path, cursor, tree, read)
    local from = cursor.at
    local below = tree:add(by_path[path], cursor.tvb(from, 0))
    local read_all, reason = pcall(read, below)
    below:set_len(cursor.at - from)
    if not read_all then error(reason, 0) end
    return below
end

local function declare_group(path)
    declare(path, function() return ProtoField.none(path, label(path)) end)
end

local function list(inner)
    return {
        declare = function(path)
            declare_group(path)
            inner.declare(path .. ".item")
        end,
        read = function(cursor, tree, path)
            group(path, cursor, tree, function(below)
                for _ = 1, number(cursor) do inner.read(cursor, below, path .. ".item") end
            end)
        end,
    }
end

local function tuple(parts)
    return {
        declare = function(path)
            declare_group(path)
            for at, part in ipairs(parts) do part.declare(path .. "." .. at) end
        end,
        read = function(cursor, tree, path)
            group(path, cursor, tree, function(below)
                for at, part in ipairs(parts) do part.read(cursor, below, path .. "." .. at) end
            end)
        end,
    }
end

local function struct(parts)
    return {
        declare = function(path)
            declare_group(path)
            for _, part in ipairs(parts) do part[2].declare(path .. "." .. part[1]) end
        end,
        read = function(cursor, tree, path)
            group(path, cursor, tree, function(below)
                for _, part in ipairs(parts) do part[2].read(cursor, below, path .. "." .. part[1]) end
            end)
        end,
    }
end

-- One of several words.
local function choice(variants)
    return {
        declare = function(path)
            declare(path, function() return ProtoField.string(path, label(path)) end)
        end,
        read = function(cursor, tree, path)
            local from = cursor.at
            local variant = variants[number(cursor) + 1]
            if not variant then error(MALFORMED) end
            add(tree, path, cursor, from, variant[1])
        end,
    }
end

-- One of several messages; returns the name of the innermost.
local function enum(variants)
    return {
        declare = function(path)
            declare_group(path)
            for _, variant in ipairs(variants) do
                -- A variant that is one number is declared as that, others as a group.
                variant[2].declare(path .. "." .. variant[1])
                declare_group(path .. "." .. variant[1])
            end
        end,
        read = function(cursor, tree, path)
            local from = cursor.at
            local variant = variants[number(cursor) + 1]
            if not variant then error(MALFORMED) end
            local below = path .. "." .. variant[1]
            if variant[2] == UNIT then
                add(tree, below, cursor, from)
                return variant[1]
            end
            return variant[2].read(cursor, tree, below) or variant[1]
        end,
    }
end

local KINDS = {
--[[KINDS]]
}

local conclave = Proto("conclave", "Conclave")

local WORDS = {}
for kind, entry in pairs(KINDS) do
    WORDS[kind] = entry[1]
    entry.path = "conclave." .. entry[1]:gsub("-", "_")
    entry[2].declare(entry.path)
end

-- The first byte of a destination: one of these, or `MEMBERS` and what follows it.
local BROADCAST, NEIGHBOURS, NODE, MEMBERS = 0, 1, 2, 0x80
local ROUTES = { [BROADCAST] = "all in range", [NEIGHBOURS] = "neighbours", [NODE] = "a neighbour, reliably" }
for flags = 0, 0x1f do ROUTES[MEMBERS + flags] = "members, reliably" end

local header = {
    version = ProtoField.uint8("conclave.version", "version", base.DEC, nil, 0xf0),
    key = ProtoField.uint8("conclave.key", "number of the key", base.DEC, nil, 0x0f),
    sender = ProtoField.uint32("conclave.sender", "sender"),
    incarnation = ProtoField.uint32("conclave.incarnation", "incarnation"),
    sequence = ProtoField.uint32("conclave.sequence", "sequence"),
    kind = ProtoField.uint8("conclave.kind", "kind", base.DEC, WORDS),
    destination = ProtoField.uint8("conclave.destination", "destination", base.DEC, ROUTES),
    to = ProtoField.uint32("conclave.destination.node", "to"),
    members = ProtoField.uint64("conclave.destination.members", "to members", base.HEX),
    relay = ProtoField.uint8("conclave.destination.relay", "relay, by slot"),
    boot = ProtoField.uint32("conclave.destination.boot", "boot of the recipient"),
    origin = ProtoField.uint32("conclave.origin", "origin"),
    origin_boot = ProtoField.uint32("conclave.origin.boot", "boot of the origin"),
    message = ProtoField.uint32("conclave.reliable.sequence", "number of the reliable message"),
    attempt = ProtoField.uint8("conclave.reliable.attempt", "attempts before"),
    hops = ProtoField.uint8("conclave.reliable.hops", "hops left"),
    sent_at = ProtoField.uint64("conclave.reliable.lamport", "Lamport time of sending"),
    ack = ProtoField.uint32("conclave.reliable.ack", "acknowledges the recipient's message"),
    own = ProtoField.bytes("conclave.own", "message of an application of one's own"),
    sealed = ProtoField.bytes("conclave.sealed", "sealed"),
    tag = ProtoField.bytes("conclave.tag", "tag"),
}
for _, field in pairs(header) do fields[#fields + 1] = field end
conclave.fields = fields

local malformed = ProtoExpert.new("conclave.malformed", "malformed", expert.group.MALFORMED, expert.severity.ERROR)
conclave.experts = { malformed }

local function add_number(tree, field, cursor)
    local from = cursor.at
    local value = number(cursor)
    tree:add(field, cursor.tvb(from, cursor.at - from), value)
    return value
end

local function add_byte(tree, field, cursor)
    local from = cursor.at
    local value = byte(cursor)
    return value, tree:add(field, cursor.tvb(from, 1), value)
end

local function add_attempt(tree, cursor)
    add_number(tree, header.message, cursor)
    add_byte(tree, header.attempt, cursor)
    add_byte(tree, header.hops, cursor)
    local from = cursor.at
    local low, high = varint(cursor)
    tree:add(header.sent_at, cursor.tvb(from, cursor.at - from), UInt64(low, high))
end

-- Reads a set of members and what the first byte says that there is beside it; returns the set in words.
local function add_members(tree, cursor, route)
    local relayed, named, one, two, acknowledges = flags(route - MEMBERS)
    if one and two then error(MALFORMED) end
    if relayed then
        add_number(tree, header.origin, cursor)
        add_number(tree, header.origin_boot, cursor)
    end
    add_attempt(tree, cursor)
    local from = cursor.at
    local low, high = varint(cursor)
    local words, count = slots(low, high)
    tree:add(header.members, cursor.tvb(from, cursor.at - from), UInt64(low, high)):append_text(" (" .. words .. ")")
    for _ = 1, named and count or 0 do add_number(tree, header.boot, cursor) end
    for _ = 1, two and 2 or one and 1 or 0 do add_byte(tree, header.relay, cursor) end
    if acknowledges then add_number(tree, header.ack, cursor) end
    return words
end

-- Reads where a frame goes; returns it in words.
local function add_destination(tree, cursor)
    local route, below = add_byte(tree, header.destination, cursor)
    if not ROUTES[route] then error(MALFORMED) end
    if route == BROADCAST then return "all" end
    if route >= MEMBERS then return add_members(below, cursor, route) end
    if route == NEIGHBOURS then
        local ids = {}
        for _ = 1, number(cursor) do ids[#ids + 1] = add_number(below, header.to, cursor) end
        return table.concat(ids, ", ")
    end
    add_attempt(below, cursor)
    local to = add_number(below, header.to, cursor)
    add_number(below, header.boot, cursor)
    return tostring(to)
end

-- The bytes of a part of a frame, as a list.
local function bytes_of(tvb, from, to)
    local bytes = {}
    for at = from, to - 1 do bytes[#bytes + 1] = tvb(at, 1):uint() end
    return bytes
end

-- The bytes of 16 pairs of digits, as a list.
local function key_of(digits)
    local bytes = {}
    for pair in digits:gmatch("%x%x") do bytes[#bytes + 1] = tonumber(pair, 16) end
    return #bytes == 16 and bytes or nil
end

local keys, last_key, groups, known = {}, 1, {}, {}

local function add_key(key)
    local text = key and table.concat(key, " ")
    if not key or known[text] then return end
    keys[#keys + 1], known[text] = key, true
end

-- Adds the key of frames about lists to those of a group.
local function add_group(group)
    local key = group and derived(group, NOBODY)
    add_key(key)
    if group then groups[table.concat(key, " ")] = group end
end

local function read_keys(more)
    keys, last_key, groups, known = {}, 1, {}, {}
    for digits in (table.concat(KEYS, " ") .. " " .. more):gmatch("%x+") do add_key(key_of(digits)) end
    for digits in (table.concat(GROUPS, " ") .. " " .. more):gmatch("%x+") do add_group(key_of(digits)) end
end

-- Derives the key of the list in a message.
local function learn_list(cursor, group)
    local copy = { tvb = cursor.tvb, at = cursor.at, stop = cursor.stop }
    if number(copy) ~= 0 then return end
    number(copy) -- the epoch
    for _ = 1, number(copy) do group = derived(group, number(copy)) end
    add_key(group)
end

-- Opens what is sealed, with the first key that fits; returns a cursor in it, and the group whose list it is about.
local function opened(cursor, sender, incarnation, sequence)
    local nonce = {}
    for _, number in ipairs { sender, incarnation, sequence, 0 } do
        for at = 0, 3 do nonce[#nonce + 1] = math.floor(number / 256 ^ at) % 256 end
    end
    local clear = bytes_of(cursor.tvb, 0, cursor.at)
    if math.floor(clear[1] / 16) == LISTS_VERSION then clear[1] = clear[1] - (LISTS_VERSION - VERSION) * 16 end
    local text = bytes_of(cursor.tvb, cursor.at, cursor.stop)
    local tag = bytes_of(cursor.tvb, cursor.stop, cursor.stop + TAG_BYTES)
    for count = 0, #keys - 1 do
        -- The key of the frame before is tried first.
        local at = (last_key + count - 1) % #keys + 1
        local bytes = open_with(keys[at], nonce, clear, text, tag)
        if bytes then
            last_key = at
            local digits = {}
            for index, byte in ipairs(bytes) do digits[index] = string.format("%02x", byte) end
            local inside = { tvb = ByteArray.new(table.concat(digits)):tvb("Conclave, opened"), at = 0, stop = #bytes }
            return inside, groups[table.concat(keys[at], " ")]
        end
    end
end

local function add_frame(tree, cursor, pinfo)
    local sender = add_number(tree, header.sender, cursor)
    local incarnation = add_number(tree, header.incarnation, cursor)
    local sequence = add_number(tree, header.sequence, cursor)
    tree:add(header.sealed, cursor.tvb(cursor.at, cursor.stop - cursor.at))
    local is_list = math.floor(cursor.tvb(0, 1):uint() / 16) == LISTS_VERSION
    local group
    cursor, group = opened(cursor, sender, incarnation, sequence)
    if not cursor then
        pinfo.cols.info = string.format("%d: sealed with another key", sender)
        return
    end
    local kind = add_byte(tree, header.kind, cursor)
    local to = add_destination(tree, cursor)
    local entry = KINDS[kind]
    local name
    if (kind == LISTS_KIND) ~= is_list then error(MALFORMED) end
    if is_list and group then learn_list(cursor, group) end
    if entry then
        name = entry[2].read(cursor, tree, entry.path)
        name = name and entry[1] .. " " .. name:gsub("_", "-") or entry[1]
    elseif kind >= 128 and kind < 192 then
        name = "application " .. (kind - 128)
        if cursor.at < cursor.stop then
            tree:add(header.own, cursor.tvb(cursor.at, cursor.stop - cursor.at))
            cursor.at = cursor.stop
        end
    else
        error(MALFORMED)
    end
    if cursor.at ~= cursor.stop then error(MALFORMED) end
    pinfo.cols.info = string.format("%d to %s: %s", sender, to, name)
end

function conclave.dissector(tvb, pinfo, tree)
    if tvb:len() <= TAG_BYTES + 1 then return 0 end
    local version = math.floor(tvb(0, 1):uint() / 16)
    if version ~= VERSION and version ~= LISTS_VERSION then return 0 end
    pinfo.cols.protocol = "Conclave"
    -- Ethernet pads short frames, UDP does not: all bytes are the frame's.
    local stop = tvb:len() - TAG_BYTES
    local cursor = { tvb = tvb, at = 1, stop = stop }
    local top = tree:add(conclave, tvb())
    top:add(header.version, tvb(0, 1))
    top:add(header.key, tvb(0, 1))
    local read, reason = pcall(add_frame, top, cursor, pinfo)
    if not read then
        if reason ~= MALFORMED then error(reason, 0) end
        pinfo.cols.info = "malformed"
        top:add_proto_expert_info(malformed)
    end
    top:add(header.tag, tvb(stop, TAG_BYTES))
    return tvb:len()
end

-- Without these, frames of a radio are taken for those of another protocol.
conclave.prefs.pan = Pref.uint("PAN id", --[[PAN]]0, "The PAN id of the radio")
conclave.prefs.keys = Pref.string("Keys", "", "Further keys, each of 32 hexadecimal digits, with spaces between")
conclave.prefs.port = Pref.uint("UDP port", --[[PORT]]0, "The UDP port of all nodes")

local pans, ports = DissectorTable.get("wpan.panid"), DissectorTable.get("udp.port")
local registered = {}

local function register()
    if registered.pan then pans:remove(registered.pan, conclave) end
    if registered.port then ports:remove(registered.port, conclave) end
    registered.pan, registered.port = conclave.prefs.pan, conclave.prefs.port
    pans:add(registered.pan, conclave)
    ports:add(registered.port, conclave)
    read_keys(conclave.prefs.keys)
end

conclave.prefs_changed = register
register()
