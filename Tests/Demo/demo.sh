#!/bin/bash
# Shows Greenroom's main job on real programs, in a folder of its own: a private greenroomd, cold
# launches beside prewarmed ones, one app's whole life with the supervisor killed in the middle, and the
# sample apps made with ApplicationKit. Needs neither root nor systemd. demo.sh PRODUCT-FOLDER
set -euo pipefail
shipped=$(realpath "$(dirname "$0")/../../config/apps")
product=$(realpath "${1:?usage: demo.sh PRODUCT-FOLDER}")
rounds=${ROUNDS:-5}
here=$(mktemp -d "${TMPDIR:-/tmp}/greenroom-demo.XXXXXX")
mkdir -m 700 "$here/run"
mkdir "$here/apps" "$here/work"
unset JOURNAL_STREAM # the output of apps is shown here
export GREENROOM_SOCKET=$here/run/control PATH=$product:$PATH STATE_DIRECTORY=$here/state
daemon='' watcher=''

# --- Helpers.
bold='' plain=''
[ ! -t 1 ] || bold=$'\e[1m' plain=$'\e[0m'
title() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
show() { # prints a command as one would type it, then runs it
    echo "$ $*"
    "$@"
}
# Waits until the command succeeds.
await() {
    local end=$((SECONDS + 20))
    until "$@" >/dev/null 2>&1; do
        if [ $SECONDS -ge $end ]; then
            echo "demo: never came true: $*" >&2
            tail -n 20 "$here/greenroomd.log" >&2
            return 1
        fi
        read -r -t 0.02 <> <(:) || true
    done
}
# Other work of the machine, such as the build before the demo, must not change what is shown.
cat >"$here/greenroom.conf" <<'CONFIGURATION'
[Greenroom]
PressureWarningStallSec=1s
PressureCriticalStallSec=1s
PrewarmMaxLoad=0
CONFIGURATION
start_daemon() {
    echo '$ greenroomd &'
    greenroomd --config "$here/greenroom.conf" --runtime-directory "$here/run" --apps "$here/apps" >>"$here/greenroomd.log" 2>&1 &
    daemon=$!
    disown "$daemon" # so that the shell does not report its end
    await greenroomctl list
}
# Finds the spawner by the folder that it serves: if its supervisor was killed, it is nobody's child.
spawner() {
    local process words
    for process in /proc/[0-9]*; do
        { words=$(tr '\0' ' ' <"$process/cmdline"); } 2>/dev/null || continue
        [[ $words != *greenroom-spawner*"$here/run"* ]] || echo "${process#/proc/}"
    done
}
# shellcheck disable=SC2317
clean_up() {
    local pid pids
    pids=$(spawner)
    [ -z "$watcher" ] || kill "$watcher" 2>/dev/null || true
    [ -z "$daemon" ] || kill "$daemon" 2>/dev/null || true
    for pid in $pids; do kill "$pid" 2>/dev/null || true; done
    # The spawner ends its apps before it goes.
    for pid in $daemon $pids; do timeout 20 tail --pid="$pid" -s 0.05 -f /dev/null || true; done
    rm -rf "$here"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

# A zombie whose parent is slow to look is gone all the same.
gone() { ! grep -q '^State:.[^ZX]' "/proc/$1/status" 2>/dev/null; }

# One value of the app's instance, from the client's JSON.
value() { # KEY [APP]
    greenroomctl status --json | python3 -c '
import json, sys
key = sys.argv[1]
print(next((i[key] for i in json.load(sys.stdin)["instances"]
            if i["app"] == sys.argv[2] and i["state"] not in ("prewarmed", "prewarming", "not_running")), ""))' "$1" "${2:-org.example.clock}"
}
is_state() { [ "$(value state "${2:-org.example.clock}")" = "$1" ]; } # STATE [APP]
has_prewarmed() { # APP
    greenroomctl status --json | python3 -c '
import json, sys
sys.exit(not any(i["app"] == sys.argv[1] and i["state"] == "prewarmed"
                 for i in json.load(sys.stdin)["instances"]))' "$1"
}
milliseconds() { # COMMAND...: how long it took; its output goes to $here/output
    local start=${EPOCHREALTIME/./} end
    "$@" >"$here/output" 2>&1 </dev/null || { cat "$here/output" >&2; return 1; }
    end=${EPOCHREALTIME/./}
    echo $((end - start))
}
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
manifest() { # ID EXEC
    printf '[App]\nExec=%s\n[Prewarm]\nWhen=demand\n' "$2" >"$here/apps/$1.app"
}

# --- What is there to run.
declare -A command=(
    [org.ffmpeg.ffmpeg]=ffmpeg [org.inkscape.Inkscape]=inkscape [org.git-scm.git]=git)
for app in "${!command[@]}"; do
    path=$(command -v "${command[$app]}") || {
        echo "demo: ${command[$app]} is not installed, going on without" >&2
        unset "command[$app]"
        continue
    }
    manifest "$app" "$(realpath "$path")"
done
# An app that one can see running: it writes the time, every second, for ever.
cat >"$here/work/clock" <<'CLOCK'
#!/bin/bash
while true; do
    printf '%(%T)T\n' -1 >>"$1"
    read -r -t 1 <> <(:) || true
done
CLOCK
chmod +x "$here/work/clock"
manifest org.example.clock "$here/work/clock $here/work/times"

title "A private greenroomd, as $(id -un), in $here; it minds neither the load nor short stalls here"
start_daemon
greenroomctl list

# --- Cold against prewarmed, turn by turn, in this very run.
title "Cold against prewarmed (median of $rounds, each from the command to its end)"
jobs=(
    "org.ffmpeg.ffmpeg|ffmpeg -version|-version"
    "org.ffmpeg.ffmpeg|ffmpeg: encode 5 frames|-v error -f lavfi -i testsrc=s=64x64:d=0.2 -f null -"
    "org.inkscape.Inkscape|inkscape --version|--version"
    "org.git-scm.git|git --version|--version"
)
printf '%-28s %12s %14s %8s\n' "" "cold" "prewarmed" "ratio"
for job in "${jobs[@]}"; do
    IFS='|' read -r app name words <<<"$job"
    [ -n "${command[$app]:-}" ] || continue
    read -ra arguments <<<"$words"
    : >"$here/cold"
    : >"$here/prewarmed"
    for ((round = 0; round <= rounds; round++)); do
        greenroomctl prewarm "$app" >/dev/null
        await has_prewarmed "$app"
        cold=$(milliseconds "${command[$app]}" "${arguments[@]}")
        prewarmed=$(milliseconds greenroomctl run "$app" -- "${arguments[@]}")
        [ $round = 0 ] && continue # this round fills the page cache
        echo "$cold" >>"$here/cold"
        echo "$prewarmed" >>"$here/prewarmed"
    done
    awk -v name="$name" -v cold="$(median <"$here/cold")" -v warm="$(median <"$here/prewarmed")" \
        'BEGIN { printf "%-28s %9.1f ms %11.1f ms %7.2f\n", name, cold / 1000, warm / 1000, warm / cold }'
done
echo "(each prewarmed time includes starting greenroomctl itself)"

# --- One app through every state.
title "One app's life, as 'greenroomctl watch' sees it"
restart_watch() {
    greenroomctl watch > >(sed -u 's/^/    watch | /') 2>/dev/null &
    watcher=$!
    disown "$watcher"
}
restart_watch
show greenroomctl prewarm org.example.clock
await has_prewarmed org.example.clock
show greenroomctl launch org.example.clock
await is_state active
show greenroomctl background org.example.clock
await is_state background
show greenroomctl suspend org.example.clock
await is_state suspended
pid=$(value processId)
echo "suspended: process $pid"

title "kill -9 of greenroomd, in the middle"
show kill -KILL "$daemon"
await gone "$daemon"
kill "$watcher" 2>/dev/null || true
start_daemon
restart_watch
again=$(value processId)
echo "after the restart: process $again, $(value state)"
[ "$again" = "$pid" ] && is_state suspended || { echo "demo: the app was lost" >&2; exit 1; }

show greenroomctl resume org.example.clock
await is_state background
written=$(wc -l <"$here/work/times")
more_lines() { [ "$(wc -l <"$here/work/times")" -gt "$written" ]; }
await more_lines
echo "it writes again: $(tail -n 1 "$here/work/times")"
show greenroomctl foreground org.example.clock
await is_state active
show greenroomctl terminate org.example.clock
await gone "$pid"

# --- Apps made with the SDK, with their shipped manifests but for paths and times.
title "Apps made with ApplicationKit: Notes, Echo and Fetch"
sample() { # NAME LINE: a line for [App]
    sed -e "s|^Exec=/usr/local/lib/greenroom/|Exec=$product/|" -e "s|/run/greenroom/echo|$here/run/echo|" \
        -e 's/^\(On.*ActiveSec\)=.*/\1=700ms/' -e "s|^\[App\]|&\n$2|" \
        "$shipped/io.greenroom.$1.app" >"$here/apps/io.greenroom.$1.app"
}
said() { [ "$(grep -cxF "$1" "$here/greenroomd.log")" -ge "$2" ]; } # LINE TIMES
says() { # NAME LINE [TIMES]: waits until the app has said the line this many times
    await said "$2" "${3:-1}"
    printf '%9s | %s\n' "$1" "$2"
}
printf 'buy milk\ncall mother\n' >"$here/work/notes"
sample Notes "Environment=NOTES_FILE=$here/work/notes\nBackgroundGraceSec=500ms"
sample Echo ""
greenroomctl reload >/dev/null
await has_prewarmed io.greenroom.Notes
await has_prewarmed io.greenroom.Echo
show greenroomctl open notes:2
says Notes "call mother"
await is_state active io.greenroom.Notes
show greenroomctl action Notes new-note
says Notes "New note, one line:"
show greenroomctl background Notes
await is_state suspended io.greenroom.Notes
show greenroomctl open notes:1
says Notes "buy milk"
echo "$ a client of Echo's socket, which greenroomd holds"
python3 - "$here/run/echo" <<'CLIENT'
import socket, sys
connection = socket.socket(socket.AF_UNIX)
connection.connect(sys.argv[1])
connection.sendall(b"is anybody there?")
print("answered:", connection.recv(64).decode())
CLIENT
await grep -q '^echo: serves' "$here/greenroomd.log"
grep '^echo: serves' "$here/greenroomd.log" | sed 's/^/     Echo | /'
echo "$ Fetch's timer"
sample Fetch "Environment=FETCH_FILE=$here/work/fetched"
greenroomctl reload >/dev/null
fetched_twice() { [ "$(wc -l <"$here/work/fetched")" -ge 2 ]; }
await fetched_twice
cat "$here/work/fetched"

# --- The same in other languages.
title "Apps in Python and C: Reader comes back where its user was, Sums works in the background"
sample Reader ""
sample Sums "Environment=HOME=$here/work"
greenroomctl reload >/dev/null
await has_prewarmed io.greenroom.Reader
show greenroomctl launch Reader
says Reader "(1 of 3)"
show greenroomctl action Reader next
says Reader "(2 of 3)"
show greenroomctl background Reader
echo "$ the machine needs memory, and takes it"
reader_is_gone() { [ -z "$(value state io.greenroom.Reader)" ]; }
# Each report reclaims one kind of instances: first prewarmed ones, then suspended ones and those in the
# background.
reader_is_reclaimed() { greenroomctl debug pressure critical && reader_is_gone; }
await reader_is_reclaimed
greenroomctl debug pressure none
show greenroomctl launch Reader
says Reader "(2 of 3)" 2
echo "$ its user forces it to quit: it starts from the beginning"
show greenroomctl kill Reader
await reader_is_gone
show greenroomctl launch Reader
says Reader "(1 of 3)" 2
show greenroomctl launch Sums
says Sums "0 files of $here/work known, 0 damaged"
show greenroomctl action Sums check
await grep -q '^done after file' "$here/greenroomd.log"
grep '^done after file' "$here/greenroomd.log" | sed 's/^/     Sums | /'
show greenroomctl status
title "Done; everything of it ends now"
