#!/bin/sh
# A scenario over many seeds on machines that SSH reaches, by GNU parallel; `hosts` has one of them a line, `:` is this one.
# A part that failed runs again elsewhere; the files come back to this machine, and are reported on together.
set -eu
PARTS="${PARTS:-64}"
WORK="${WORK:-run grid64-leader-crash --seeds 0..100000}"
mkdir -p outcomes
seq "$PARTS" | parallel --sshloginfile hosts --basefile conclave --retries 3 --jobs 1 --return 'outcomes/{}.jsonl' --cleanup \
    "mkdir -p outcomes && ./conclave $WORK --shard {}/$PARTS --outcomes outcomes/{}.jsonl"
exec ./conclave merge outcomes/*.jsonl
