#!/bin/sh
# What the compiler cannot forbid: in the daemons nothing may start a task behind the event loop's
# back (Dispatch's threads, and a wake-up per second for good) or bring in Foundation and ICU.
#
#   check-sources.sh [--self-test] [SOURCES]      exit status 1 and file:line for each finding
set -eu

sources=$(dirname "$0")/../Sources
# The client and the simulator are no daemons: they may do as they like. An app's own loop is that of
# the main thread.
exempt='^(greenroomctl|GreenroomCommands|greenroom-simulate|ApplicationKit|Samples)$'

# reason <tab> extended regular expression, matched outside comments
rules() {
    printf '%s\t%s\n' \
        'the loop runs no tasks' '(^|[^A-Za-z_.])Task[[:space:]]*(<[^>]*>)?[[:space:]]*\{' \
        'the loop runs no tasks' '(^|[^A-Za-z_.])Task[[:space:]]*(<[^>]*>)?\((priority|name|\))' \
        'the loop runs no tasks' '(^|[^A-Za-z_])Task\.(detached|immediateDetached)' \
        'use a timer of the loop' '(^|[^A-Za-z_])Task\.sleep|ContinuousClock|SuspendingClock' \
        'main is synchronous' 'func main\(\)[[:space:]]*async' \
        'the loop is the only scheduler' 'import[[:space:]]+Dispatch|Dispatch(Queue|Source|Group|Semaphore|Time)' \
        'no Foundation' 'import[[:space:]]+Foundation' \
        'the main actor is not our loop' '@MainActor' \
        'the loop runs no tasks' 'executorPreference|Task\.immediate'
}

scan() {
    status=0
    for directory in "$1"/*/; do
        if basename "$directory" | grep -Eq "$exempt"; then continue; fi
        for file in $(find "$directory" -name '*.swift' | sort); do
            # Comments and result types go, lines stay.
            code=$(sed -E "s,(^|[^:])//.*,\\1,; s,-> Task<[^{]*>,," "$file")
            found=$(rules | while IFS="$(printf '\t')" read -r reason pattern; do
                printf '%s\n' "$code" | grep -nE "$pattern" | while IFS=: read -r line text; do
                    echo "$file:$line: $reason: $(echo "$text" | sed 's/^ *//')"
                done
            done)
            [ -z "$found" ] || { printf '%s\n' "$found"; status=1; }
        done
    done
    return $status
}

# A check that was never seen to fail proves nothing.
self_test() {
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    mkdir "$scratch/daemon" "$scratch/greenroomctl"
    while IFS= read -r bad; do
        printf '// Task { }\n%s\n' "$bad" >"$scratch/daemon/File.swift"
        if scan "$scratch" >"$scratch/out"; then
            echo "not found: $bad" >&2
            exit 1
        fi
        grep -q 'File.swift:2: ' "$scratch/out" || { cat "$scratch/out" >&2; exit 1; }
    done <<'BAD'
Task { await x() }
    let t = Task<Int, Never> { 1 }
Task(priority: .high) { }
Task.detached { }
try await Task.sleep(for: .seconds(1))
static func main() async {
import Dispatch
public import FoundationEssentials
DispatchQueue.global().async {}
Task.immediate(executorPreference: x) { }
BAD
    printf 'LoopActor.timer { }\n// Task.detached\nlet x: Task<Int, Never>\n' >"$scratch/daemon/File.swift"
    printf 'Task { }\n' >"$scratch/greenroomctl/File.swift"
    scan "$scratch"
}

if [ "${1-}" = --self-test ]; then
    self_test
    shift
fi
scan "${1-$sources}"
