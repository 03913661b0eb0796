#!/bin/bash
# Shows Greenroom as a system service under a real systemd, which is booted in a namespace of its own.
# The service is installed and started, its two daemons are killed, memory is made short, and the service
# is stopped. Nothing is left afterwards. Needs root. systemd.sh PRODUCT-FOLDER
# shellcheck disable=SC2034,SC2154  # shared with what is sourced
set -euo pipefail
PRODUCT=$(realpath "${1:?usage: systemd.sh PRODUCT-FOLDER}")
cd "$(dirname "$0")/../.."
title="demo-systemd"

# --- Helpers.
bold='' plain=''
[ ! -t 1 ] || bold=$'\e[1m' plain=$'\e[0m'
heading() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
show() { # prints a command as one would type it, then runs it in there
    echo "# $*"
    inside "$@"
}
processes() { # APP...: its processes, with their states
    ctl status --json | python3 -c '
import json, sys
instances = json.load(sys.stdin)["instances"]
for app in sys.argv[1:]:
    own = sorted((i["processId"], i["state"]) for i in instances if i["app"] == app)
    for process, state in own: print(f"{app}: process {process} {state}")
    if not own: print(f"{app}: no process")
' "$@"
}
apps=(org.example.clock org.example.player org.example.notes)
kill_9() { # PID
    echo "# kill -KILL $1"
    signal KILL "$1"
}
nothing_is_lost() { # what was there BEFORE
    local after
    after=$(processes "${apps[@]}")
    echo "greenroomd is process $(property greenroomd MainPID), the spawner $(property \
        greenroom-spawner MainPID); what they know:"
    echo "$after"
    [ "$1" = "$after" ] || { echo "demo-systemd: something was lost" >&2; exit 1; }
}

heading "A systemd of its own, with Greenroom installed by make install"
. Tests/Suites/systemd/installed
echo "systemd is $(sed 's/\([0-9]*\)$/in \1 ms/' "$scratch/boot")"
for app in clock player notes; do
    inside sh -c "cat >/etc/greenroom/apps/org.example.$app.app" <<'APP'
[App]
Exec=/usr/bin/sleep infinity
ForegroundGroup=none
[Prewarm]
When=boot
APP
done
inside systemctl daemon-reload

heading "Start"
show systemctl start greenroomd.service
await is_state org.example.notes prewarmed
await is_state org.example.clock prewarmed
show greenroomctl launch org.example.clock
show greenroomctl launch org.example.player
show greenroomctl background org.example.player
show greenroomctl suspend org.example.player
await has_state org.example.clock prewarmed
await has_state org.example.player prewarmed
counted() { [[ $(property greenroomd StatusText) == *"1 running, 1 suspended, 3 prewarmed"* ]]; }
await counted
show systemctl status --no-pager --lines=0 greenroomd.service | sed -n '/Active:\|Status:\|Main PID:/p'

heading "kill -9 of the supervisor: nothing is lost"
before=$(processes "${apps[@]}")
echo "$before"
main=$(property greenroomd MainPID)
kill_9 "$main"
answers() { ctl list; }
await is_replaced greenroomd "$main"
await answers
nothing_is_lost "$before"

heading "kill -9 of the spawner, the parent of them all: nothing is lost"
main=$(property greenroom-spawner MainPID)
kill_9 "$main"
await is_replaced greenroom-spawner "$main"
nothing_is_lost "$before"
show greenroomctl resume org.example.player

heading "Memory is short: what is taken back, and why"
if ctl debug pressure --help >/dev/null 2>&1; then
    show greenroomctl suspend org.example.player
    show greenroomctl debug pressure critical
    gone() { ! has_state org.example.notes prewarmed && ! has_state org.example.player suspended; }
    await gone
    inside journalctl --sync
    inside journalctl -o cat -u greenroomd --grep='reclaim|pressure|warn' --no-pager || true
    processes "${apps[@]}"
    show greenroomctl debug pressure none
else
    echo "(this greenroomctl cannot inject pressure)"
fi

heading "The journal, by app"
inside journalctl --sync
show greenroomctl logs org.example.player --lines 6

heading "Stop: the apps end with their grace"
show systemctl stop greenroomd.socket greenroom-apps.service
equal "$(property greenroomd ActiveState)" inactive
heading "Done; everything of it goes now"
