"""Node: unmodified scripts, the ways to name one, options, and every reason to start anew."""
import os
import shutil
import subprocess

import results
from comparing import ENVIRONMENT, Language
from instance import CHANGED, FAILED, OPTIONS, PROGRAM, RUNTIMES
from instance import ENVIRONMENT as VARIABLE
from cases_ruby import refuses

IMPORTS = [f"node:{name}" for name in ("fs path http https zlib crypto util stream child_process readline url assert "
                                       "worker_threads vm os").split()]

# Each script prints everything that a program can observe about one subject.
SCRIPTS = {
    "arguments": r'''
console.log(process.argv, process.argv0, process.execArgv, process.execPath, __filename, __dirname, require.main === module, module.id, module.parent, module.paths)
console.log(require('fs').readFileSync('/proc/self/cmdline','utf8'), require('fs').readFileSync('/proc/self/comm','utf8'))''',
    "title": r'''
console.log(process.title)
process.title='nom'
console.log(process.title, require('child_process').execSync('ps -o args= -p '+process.pid).toString())''',
    "environment": r'''
console.log(process.env, Object.keys(process.env))
process.env.NEW='1'; delete process.env.Z
console.log(require('child_process').execSync('env | sort | grep -v ^_=').toString())''',
    "working directory": "console.log(process.cwd(), require('path').resolve('x'), process.umask().toString(8), require('fs').existsSync('cwd.js'))",
    "streams": r"console.log(process.stdout.isTTY, process.stdin.isTTY, process.stdout.constructor.name, process.stdin.constructor.name, process.stdout.columns, process.stdout.hasColors?.()); process.stdin.on('data', d => console.log('' + d)).on('end', () => { process.stderr.write('e\n'); process.exit(4) })",
    "reading at once": "console.log(require('fs').readFileSync(0,'utf8'))",
    "questions": "const rl = require('readline').createInterface({input: process.stdin, output: process.stdout}); rl.question('name? ', a => { console.log('hi', a); rl.close() })",
    "exception": r'''
function f() { throw new Error('boom') }
f()''',
    "cause": "throw new TypeError('a', {cause: new Error('b')})",
    "thrown value": 'throw {a: 1}',
    "syntax error": 'let x = = 3',
    "rejection": "Promise.reject(new Error('rejected'))",
    "handled rejection": "process.on('unhandledRejection', (e) => { console.log('caught', e); process.exitCode = 5 }); Promise.reject(7)",
    "handled exception": "process.on('uncaughtException', (e, o) => console.log(e.stack, o)); setTimeout(() => { throw new Error('late') }, 1)",
    "stack": r"console.log(new Error().stack); function g(){ return new Error('x').stack.split('\n').length } console.log(g())",
    "trace": "Error.stackTraceLimit = 100; console.trace('here')",
    "timers": "const t = Date.now(); setTimeout(() => console.log(Date.now() - t >= 190 ? 'ok' : Date.now() - t), 200); setImmediate(() => console.log('imm')); process.nextTick(() => console.log('tick')); queueMicrotask(() => console.log('micro')); let n = 0; const i = setInterval(() => { if (++n == 3) clearInterval(i) }, 5)",
    "exit": "process.on('exit', c => console.log('exit', c)); process.on('beforeExit', () => console.log('before')); process.exitCode = 9",
    "listeners": "console.log(process.eventNames(), process.listenerCount('exit'))",
    "kill": "console.log('a'); process.kill(process.pid,'SIGKILL'); setTimeout(()=>{}, 5000)",
    "termination": "process.kill(process.pid, 'SIGTERM'); setTimeout(()=>{}, 5000)",
    "interrupt": "process.on('SIGINT', () => { console.log('int'); process.exit(3) }); process.kill(process.pid, 'SIGINT'); setTimeout(()=>{}, 5000)",
    "loaded modules": r'''
console.log(Object.keys(require.cache), module.children.length, require.main.children.length)
const d = require('dep')
console.log(d, module.children.length)''',
    "paths of modules": "console.log(require('module').globalPaths, process.mainModule === module)",
    "worker": "const w = require('worker_threads'); if (w.isMainThread) { new w.Worker(__filename, {argv: ['q']}).on('exit', c => console.log('w', c)) } else { console.log(process.argv, process.execArgv, process.env.FOO, Object.keys(require.cache)) }",
    "worker of text": r'''const w = require('worker_threads'); if (w.isMainThread) { const k = new w.Worker('require("worker_threads").parentPort.postMessage([process.argv, process.execArgv, new Error().stack])', {eval: true}); k.on('message', m => console.log(m)).on('exit', c => console.log('w', c)) }''',
    "forks": "const c = require('child_process'); if (process.send) { process.send(process.argv.slice(2).concat(process.execArgv)) } else c.fork(__filename, ['k']).on('message', m => console.log(m))",
    "cluster": "const c = require('cluster'); if (c.isPrimary) { c.fork().on('exit', (x) => console.log('exit', x)) } else { console.log(process.argv.slice(1), process.execArgv); process.exit(6) }",
    "http": "const h = require('http'); const s = h.createServer((q, r) => r.end('hi')).listen(0, () => h.get({port: s.address().port, agent: false}, r => r.on('data', d => { console.log('' + d); s.close() })))",
    "time zone": 'console.log(new Date(0).toString(), Intl.DateTimeFormat().resolvedOptions().timeZone, Intl.DateTimeFormat().resolvedOptions().locale)',
    "thread pool": r'''
require('fs').readFile(__filename, (e, d) => console.log(d.length))
require('crypto').pbkdf2('a','b',10,8,'sha1',(e,k)=>setTimeout(()=>console.log(k.toString('hex')),50))''',
    "missing module": "require('nosuch')",
    "names": "console.log(Object.getOwnPropertyNames(globalThis).sort().join(), this === module.exports, Object.getOwnPropertyNames(require('module')).join(), Object.getOwnPropertyDescriptor(require('module'),'runMain'), Object.getOwnPropertyNames(process).join(), Object.getOwnPropertyDescriptor(process,'argv0'), Object.getOwnPropertyDescriptor(process,'argv').writable, Object.getOwnPropertyDescriptor(process,'execArgv').writable)",
    "last match": "console.log([RegExp.lastMatch, RegExp['$1'], RegExp.input, RegExp.leftContext])",
    "descriptors": "console.log(require('fs').readdirSync('/proc/self/task').length > 3, require('child_process').execSync('ls /proc/self/fd').toString())",
    "children": r'''console.log(require('child_process').spawnSync(process.execPath, [...process.execArgv, '-p', 'process.argv.length + " " + process.env.FOO + process.cwd()']).stdout.toString())''',
    "signals and limits": r'''
console.log(require('fs').readFileSync('/proc/self/status','utf8').split('\n').filter(l => /^Sig(Blk|Cgt)/.test(l)).join('\n'))
console.log(require('child_process').execSync('ulimit -Sn; ulimit -Hn').toString())''',
    "memory": "console.log(typeof gc, require('v8').getHeapStatistics().heap_size_limit)",
    "promises": "(async () => { for await (const x of [1,2]) console.log(x); await new Promise(r => setTimeout(r, 5)); console.log('done'); throw new Error('async') })()",
    "asynchronous context": r'''
const {AsyncLocalStorage, executionAsyncId} = require('async_hooks')
const s = new AsyncLocalStorage(); s.run(1, () => setTimeout(() => console.log(s.getStore()), 1))
console.log(executionAsyncId())''',
    "imports": "import('fs').then(m => console.log(typeof m.default.readFile)); import('./sub/m.mjs').then(m => console.log(m))",
    "nothing": '',
    "strict": "'use strict'; console.log(this, typeof arguments, arguments.length, (function () { return this })())",
    "vm": r'''
const vm = require('vm')
console.log(vm.runInNewContext('x + 1', {x: 1})); try { vm.runInThisContext('throw new Error("v")', 'vm.js') } catch (e) { console.log(e.stack) }''',
    "large environment": 'console.log(process.env.BIG?.length, process.argv.length)',
    "large output": r"process.stdout.write('x'.repeat(70000) + '\n', () => console.log('done'))",
}
HIDES = [(rb"(?<=\(node:)\d+", b"N")]


def language(name, interpreter, base):
    def prepare(options, imports, environment):
        if imports:
            environment["GREENROOM_IMPORTS"] = "\n".join(imports)
        return [interpreter, *options, "-r", RUNTIMES + "/node/greenroom.cjs", RUNTIMES + "/node/placeholder"], environment

    node = Language(name, interpreter, prepare)
    node.base = dict(ENVIRONMENT, **base)
    return node


def file_of(name):
    return name.replace(" ", "_") + ".js"


def scripts(node):
    node.write("node_modules/dep/index.js", "exports.parent = module.parent && module.parent.filename; exports.x = 1; "
                                            "exports.main = require.main === module;\n")
    node.write("sub/m.mjs", "export const a = 1; console.log(import.meta.url)\n")
    for name, text in SCRIPTS.items():
        node.write(file_of(name), text.lstrip("\n") + "\n")
    for name in SCRIPTS:
        words = [file_of(name), "a b"] if name == "title" else [file_of(name), "a b", "", "ü", "--x"]
        node.same_on_both(name, words, environment=node.base, hides=HIDES)
        node.same(name + ", with imports", words, environment=node.base, hides=HIDES, imports=IMPORTS)


def programs(node):
    """Tests each way to name a program."""
    arguments = file_of("arguments")
    node.write("esm.mjs", "import fs from 'fs'; console.log(import.meta.url, process.argv, fs.existsSync('esm.mjs'));\n"
                          "const d = await import('dep'); console.log(d.default); throw new Error('x')\n")
    node.write("sub/package.json", '{"type": "module"}\n')
    node.write("sub/esm.js", "import * as p from 'process'; console.log(typeof p, import.meta.url, typeof require)\n")
    node.write("exe", "#!/usr/bin/env node\nconsole.log(process.argv, __filename)\n", 0o755)
    node.write("data.json", '{"a": 1}')
    node.write("ünï code.js", "console.log(__filename, process.argv)\n")
    os.symlink("../" + arguments, node.folder + "/sub/link.cjs")
    for name, words, more in (
            ("an absolute name", [node.folder + "/" + arguments], {"directory": "node_modules"}),
            ("a name with a dot", ["./" + arguments], {}),
            ("a name with two dots", ["../" + arguments], {"directory": "sub"}),
            ("a name without its ending", ["arguments"], {}),
            ("a link", ["sub/link.cjs"], {}),
            ("a name that is not ASCII", ["ünï code.js"], {}),
            ("a script for env", ["./exe", "q"], {}),
            ("an ECMAScript module", ["esm.mjs", "q"], {}),
            ("an ECMAScript package", ["sub/esm.js", "q"], {}),
            ("data", ["data.json"], {}),
            ("a folder", ["sub"], {}),
            ("a package", ["node_modules/dep"], {}),
            ("a missing script", ["nosuch.js"], {}),
            ("a command", ["-e", "console.log(process.argv)", "x"], {"anew": PROGRAM}),
            ("a printed expression", ["-p", "1+1"], {"anew": PROGRAM}),
            ("two dashes", ["--", arguments], {"anew": PROGRAM}),
            ("the version", ["--version"], {"anew": PROGRAM})):
        node.same_on_both(name, words, environment=node.base, hides=HIDES, **more)
    node.same("an empty name", [""], environment=node.base, anew=PROGRAM)
    node.same("standard input", ["-", "x"], environment=node.base, given=b"console.log(process.argv, __filename)\n", anew=PROGRAM)
    node.same("no word", [], environment=node.base, given=b"console.log(process.argv)\n", anew=PROGRAM)
    node.same("the debugger", ["inspect"], environment=node.base, anew=PROGRAM)
    node.same("a large environment and many words", [file_of("large environment"), *["x" * 100] * 200],
              environment=dict(node.base, BIG="x" * 30000))


def options(node):
    for words, script in ((["--no-warnings"], "arguments"), (["--no-warnings"], "worker"), (["--no-warnings"], "forks"),
                          (["--max-old-space-size=100", "--expose-gc"], "memory"), (["--stack-trace-limit=3"], "stack"),
                          (["--enable-source-maps"], "exception"), (["--unhandled-rejections=warn"], "rejection")):
        node.same(" ".join(words) + ", " + script, [file_of(script), "--no-warnings"], options=words, environment=node.base,
                  hides=HIDES)
    node.same("an option too many", ["--no-warnings", file_of("arguments")], environment=node.base, anew=PROGRAM)
    node.same("an option too few", [file_of("arguments")], options=["--no-warnings"], environment=node.base,
              direct=[node.interpreter, file_of("arguments")], anew=OPTIONS)


def variables(node):
    zone, tokyo = [file_of("time zone")], dict(node.base, TZ="Asia/Tokyo")
    node.same("a time zone", zone, environment=tokyo, prewarm=node.base)
    node.same("a time zone that the launch does not set", zone, environment=node.base, prewarm=tokyo)
    node.same("NODE_PATH and HOME", [file_of("paths of modules")], prewarm=node.base,
              environment=dict(node.base, NODE_PATH=node.folder + "/sub", HOME="/nowhere"))
    node.same("NODE_OPTIONS", [file_of("arguments")], environment=dict(node.base, NODE_OPTIONS="--no-warnings"), hides=HIDES)
    node.same("other NODE_OPTIONS", [file_of("arguments")], environment=dict(node.base, NODE_OPTIONS="--no-warnings"),
              prewarm=node.base, anew=VARIABLE)
    node.same("another locale", zone, environment=dict(node.base, LC_ALL="POSIX"), prewarm=node.base, anew=VARIABLE)
    # Node sets every signal to its default disposition, so it does not stay ignored.
    node.same("a signal that the caller ignores", [file_of("signals and limits")], environment=node.base,
              direct=["/bin/sh", "-c", "trap '' HUP; exec \"$@\"", "sh", node.interpreter, file_of("signals and limits")],
              launch=[node.interpreter, file_of("signals and limits")], change=lambda paused: paused.inherit(ignored=[1]))
    for number in range(3):
        node.same(f"descriptor {number} closed", [file_of("descriptors")], environment=node.base, anew=FAILED,
                  change=lambda paused, number=number: paused.inherit(closed=[number]),
                  direct=["/bin/sh", "-c", f"exec \"$@\" {number}>&-", "sh", node.interpreter, file_of("descriptors")],
                  launch=[node.interpreter, file_of("descriptors")])


def pipes(node):
    """Node restores the standard streams at its end, so that those who share them can go on."""
    script = node.write("both.js", "console.log('node')\n")
    results.report(f"{node.name}: the flags of a shared pipe are restored", *flags_afterwards(node, script))


def flags_afterwards(node, script):
    """Whether a launch leaves the flags of the caller's pipes as a direct run does."""
    import fcntl
    import instance
    found = []
    for way in ("direct", "prewarmed"):
        pairs = [os.pipe() for _ in range(3)]
        streams = (pairs[0][0], pairs[1][1], pairs[2][1])
        if way == "direct":
            pid = os.posix_spawn(node.interpreter, [node.interpreter, script], node.base, file_actions=[
                (os.POSIX_SPAWN_DUP2, stream, number) for number, stream in enumerate(streams)])
            os.waitpid(pid, 0)
        else:
            paused = node.pause(environment=node.base)
            paused.launch([node.interpreter, script], node.base, node.folder, streams, 0o022)
            paused.process.wait(instance.DEADLINE)
            paused.await_start()
            paused.end()
        found.append([fcntl.fcntl(stream, fcntl.F_GETFL) for stream in streams])
        for end in sum(pairs, ()):
            os.close(end)
    return found[0] == found[1], str(found)


def files(node):
    """A direct run must import the same files."""
    module = node.write("library/node_modules/fresh/index.js", "module.exports = 1\n")
    node.write("library/node_modules/fresh/package.json", '{"main": "index.js"}\n')
    script = node.write("library/fresh.js", "console.log(require('fresh'))\n")
    # A file that changed at or after the start of a paused process counts as changed. Running Node lets that time pass.
    subprocess.run([node.interpreter, "-e", ""], env=node.base, check=True)

    def replace(paused):
        node.write("library/node_modules/fresh/new", "module.exports = 2\n")
        os.rename(node.folder + "/library/node_modules/fresh/new", module)

    node.same("an import of one's own", [script], environment=node.base, imports=[module])
    node.same("an import that was edited", [script], environment=node.base, imports=[module], anew=CHANGED,
              change=lambda paused: node.write("library/node_modules/fresh/index.js", "module.exports = 11\n"))
    subprocess.run([node.interpreter, "-e", ""], env=node.base, check=True)
    node.same("an import that was replaced", [script], environment=node.base, imports=[module], anew=CHANGED, change=replace)
    subprocess.run([node.interpreter, "-e", ""], env=node.base, check=True)
    node.same("a package whose description has changed", [script], environment=node.base, imports=[module], anew=CHANGED,
              change=lambda paused: node.write("library/node_modules/fresh/package.json", '{"main": "other.js"}\n'),
              hides=HIDES)
    node.write("fails.js", "throw new Error('no')\n")
    node.write("listens.js", "require('net').createServer().listen(0)\n")
    for name, imported in (("a missing import", "/nosuch.js"), ("an import that fails", node.folder + "/fails.js"),
                           ("an import that waits for events", node.folder + "/listens.js")):
        refuses(node, name, [imported])


# Runs of tools.
TOOLS = {
    "npm": [["--version"], ["ls", "--json"], ["config", "get", "registry"], ["help", "install"], ["run"]],
    "npx": [["--version"]],
    "eslint": [["sum.js"], ["--format", "json", "sum.js"], ["--version"], ["--print-config", "sum.js"], ["nowhere.js"]],
    "tsc": [["--version"], ["--noEmit", "--pretty", "false", "types.ts"], ["--noEmit", "--target", "es2019", "sound.ts"], ["--no-such"]],
    "corepack": [["--version"]],
}
HIDES_OF_TOOLS = [(rb"\d{4}-\d\d-\d\dT[\w:.-]+", b"DATE")]


def tools(node):
    """Unmodified tools."""
    for tool, words in found_tools(node):
        node.same(f"{os.path.basename(tool)} {' '.join(words)}", [tool, *words], environment=environment_of_tools(node),
                  hides=HIDES_OF_TOOLS)


def environment_of_tools(node):
    return dict(node.base, HOME=node.folder, MANPAGER="cat")  # a pager waits for keys


def found_tools(node):
    """The tools that are installed, with the words of each run, whose files are written."""
    node.write("sum.js", "var a = 1\nif (a == 2) { debugger }\nfunction f( x ){return x}\n")
    node.write("types.ts", "const a: number = 'x';\nlet b: string = 1;\n")
    node.write("sound.ts", "export const a: number = 1;\n")
    node.write(".eslintrc.json", '{"root": true, "extends": "eslint:recommended", "env": {"node": true}}\n')
    for name, runs in TOOLS.items():
        tool = shutil.which(name, path=ENVIRONMENT["PATH"])
        if not tool:
            results.skip(f"{node.name}: {name}", f"there is no {name}")
            continue
        for words in runs:
            yield tool, words


def interpreters():
    """Returns the machine's Node, and the ones at the paths in NODES=: "/opt/node18/bin/node ..."."""
    found = [path for path in ("/usr/bin/node", "/usr/bin/nodejs") if os.path.exists(path)][:1]
    found += [path for path in os.environ.get("NODES", "").split() if path not in found]
    for path in found:
        yield path, subprocess.run([path, "--version"], capture_output=True, text=True).stdout.strip()[1:].split(".")[0]


def run():
    major = None
    for path, major in interpreters():
        base = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        node = language("node" + major, path, base)
        for part in (scripts, programs, options, variables, pipes, files, tools):
            part(node)
        node.end()
    if major is None:
        results.skip("node", "there is no node")
