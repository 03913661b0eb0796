"""Node: what a launch records, what the trace of an inspection shows, and modules that are hidden until the program asks."""
import os
import shutil
import subprocess

import cases_node
import instance
import learning
import results
from cases_traces import stamp_of
from comparing import is_wanted
from instance import CHANGED, RUNTIMES

INSPECT = RUNTIMES + "/node/inspect.cjs"

# Packages that do one thing each when they are loaded, with what the trace says of it.
MODULES = {
    "plain": ("exports.x = require('path').join('a', 'b')", None),
    "words": ("exports.x = process.argv[2]", "arguments"),
    "count": ("exports.x = process.argv.length", "arguments"),
    "flag": ("exports.x = process.argv.includes('--flag')", None),
    "options": ("exports.x = process.execArgv", "arguments"),
    "title": ("exports.x = process.title", "arguments"),
    "main": ("exports.x = require.main", "caller"),
    "main_object": ("exports.x = process.mainModule", "caller"),
    "is_main": ("exports.x = require.main === module", None),
    "parent": ("exports.x = module.parent", "caller"),
    "stack": ("exports.x = new Error().stack", "caller"),
    "captures": ("const o = {}; Error.captureStackTrace(o); exports.x = o.stack", "caller"),
    "directory": ("exports.x = process.cwd()", "directory"),
    "resolves": ("exports.x = require('path').resolve('x')", "directory"),
    "moves": ("process.chdir('/')", "directory"),
    "terminal": ("exports.x = require('tty').isatty(1)", None),
    "output": ("exports.x = process.stdout.isTTY", "terminal"),
    "errors": ("exports.x = process.stderr", "terminal"),
    "input": ("exports.x = require('fs').readFileSync(0, 'utf8')", "terminal"),
    "stream": ("exports.x = require('fs').fstatSync(1).size", "terminal"),
    "variable": ("exports.x = process.env.G_ONE", None),
    "asks_variable": ("exports.x = 'G_TWO' in process.env", None),
    "all_variables": ("exports.x = Object.keys(process.env)", "variables"),
    "copies_variables": ("exports.x = {...process.env}", "variables"),
    "sets_variable": ("process.env.G_SET = '1'", "environment"),
    "opens": ("exports.x = require('fs').readFileSync('/etc/passwd', 'utf8')", "opens"),
    "asks": ("exports.x = require('fs').existsSync('/etc/nosuch')", "opens"),
    "state_of": ("try { require('fs').statSync('/etc/nosuch') } catch {}", "opens"),
    "real_path": ("exports.x = require('fs').realpathSync('/etc')", "opens"),
    "lists": ("exports.x = require('fs').readdirSync('/etc')", "opens"),
    "relative": ("exports.x = require('fs').existsSync('x')", "opens"),
    "data": ("exports.x = require('fs').readFileSync(__dirname + '/data.txt', 'utf8')", None),
    "keeps": ("exports.x = require('fs').openSync(__filename)", "descriptor"),
    "writes": ("require('fs').writeFileSync('/tmp/greenroom-g', ''); require('fs').unlinkSync('/tmp/greenroom-g')", "writes"),
    "reads_later": ("require('fs').readFile(__filename, () => {})", "async"),
    "runs": ("require('child_process').spawnSync('true', {env: {}})", "known"),
    "exits": ("process.exit(3)", "runs"),
    "listens": ("require('net').createServer().listen(0).unref()", "known"),
    "timer": ("setTimeout(() => {}, 1).unref()", "async"),
    "interval": ("setInterval(() => {}, 1e6).unref()", "async"),
    "tick": ("process.nextTick(() => {})", "async"),
    "microtask": ("queueMicrotask(() => {})", "async"),
    "promise": ("Promise.resolve().then(() => {})", "async"),
    "waits": ("(async () => { await 1 })()", "async"),
    "imports": ("import('fs')", "async"),
    "idle_promise": ("exports.x = Promise.resolve(1)", "async"),
    "signal": ("process.on('SIGUSR2', () => {})", "state"),
    "listener": ("process.on('exit', () => {})", "state"),
    "time": ("exports.x = Date.now()", "time"),
    "date": ("exports.x = new Date()", "time"),
    "clock": ("exports.x = performance.now()", "time"),
    "global": ("globalThis.gGlobal = 1", "state"),
    "polyfill": ("Array.prototype.gLast = function () { return this[0] }", "state"),
    "replaces": ("String.prototype.trimEnd = String.prototype.trim", "state"),
    "patches": ("require('fs').readFile = () => {}", "state"),
    "patches_class": ("require('events').prototype.emit = function () {}", "state"),
    "patches_load": ("const m = require('module'), f = m._load; m._load = function (...a) { return f.apply(this, a) }", "known"),
    "extension": ("require('module')._extensions['.txt'] = () => {}", "state"),
    "limit": ("Error.stackTraceLimit = 50", "state"),
    "prepares": ("Error.prepareStackTrace = () => 'x'", "state"),
    "listeners": ("require('events').defaultMaxListeners = 50", "state"),
    "cache": ("exports.x = Object.keys(require.cache)", "order"),
    "cache_of_module": ("exports.x = Object.keys(require('module')._cache)", "order"),
    "builtin": ("exports.x = require('domain').active", "known"),
    "exit_code": ("process.exitCode = 4", "state"),
    "mask": ("exports.x = process.umask()", "state"),
    "prints": ("require('fs').writeSync(1, 'x')", "prints"),
    "fails": ("throw 'no'", "fails"),
    "tries": ("try { require('nosuch') } catch {}", None),
    "loads": ("exports.x = require('g_words')", None),
    "json": ("exports.x = require('./data.json')", None),
    "class": ("exports.X = class extends require('events') { #y = 1; static z = Symbol.for('z'); get y() { return this.#y } }", None),
    "lazy": ("exports.f = () => process.argv.concat(process.cwd(), process.env.Z, Date.now() > 0)", None),
    "zone": ("exports.x = new Date(0).getHours()", "opens"),
    "high_clock": ("exports.x = process.hrtime.bigint()", "time"),
    "random": ("exports.x = Math.random() < 2", None),
    "lazy_global": ("exports.x = typeof structuredClone + typeof fetch", None),
    "crypto": ("exports.x = crypto", "known"),
    "http": ("exports.x = require('http')", "known"),
    "zlib": ("exports.x = require('node:zlib')", "known"),
    "file_streams": ("exports.X = class extends require('fs').ReadStream {}", "known"),
    "error": ("exports.x = new Error('x')", "caller"),
    "type_error": ("exports.x = TypeError('x')", "caller"),
    "own_error": ("class E extends Error {} exports.x = new E()", "caller"),
    "defines_error": ("exports.E = class extends RangeError {}; exports.x = {} instanceof Error", None),
    "aborted": ("exports.x = AbortSignal.abort()", "caller"),
    "freezes": ("Object.freeze(Array.prototype)", "state"),
    "accessor": ("const f = JSON.parse; Object.defineProperty(JSON, 'parse', {get: () => f})", "state"),
    "promises": ("require('fs').promises.readFile = () => {}", "state"),
    "iterator": ("const p = Object.getPrototypeOf([][Symbol.iterator]()), { next } = p; p.next = function () { return next.call(this) }", "state"),
    "typed_arrays": ("Object.getPrototypeOf(Uint8Array).prototype.gLast = 1", "state"),
    "inspects_more": ("require('buffer').INSPECT_MAX_BYTES = 9", "state"),
    "water_mark": ("require('stream').setDefaultHighWaterMark(true, 9)", "state"),
    "is_main_of_parent": ("exports.x = require.main === module.parent", "caller"),
    "require_renamed": ("const r = require; exports.x = r.main", "caller"),
    "require_taken_apart": ("const { main } = require; exports.x = main", "caller"),
    "require_given": ("exports.x = ((r) => r.cache)(require)", "order"),
}
DEBUG = """const tty = require('tty')
exports.inspectOpts = Object.keys(process.env).filter(key => {
	return /^debug_/i.test(key)
}).length
exports.colors = tty.isatty(process.stderr.fd)
exports.log = (text) => process.stderr.write(text + ' ' + exports.colors + exports.inspectOpts + '\\n')
"""
DEPD = "var basePath = process.cwd()\nexports.where = (file) => require('path').relative(basePath, file)\n"


def listed(found, names):
    """Returns the lines of the list that the daemon would make (`ImportTrace.findingsInGroups`)."""
    needed, lines, taken = {}, [], set()
    for importer, name in found.needs:
        needed.setdefault(importer, set()).add(name)

    def group_of(root):
        group, queue = [], [root]
        while queue:
            name = queue.pop()
            if name not in group:
                group.append(name)
                queue += sorted(needed.get(name, ()))
        return group

    def add(group):
        group = [name for name in group if name not in taken and name[0] == "/"]
        taken.update(group)
        lines.extend(f"{name}\t{found.stamps[name]}" for name in group)
        lines.extend(f"{asked}\t-" for asked in sorted(found.reads) if asked[0] == "?" and asked.split("=/")[1] in
                     [name[1:] for name in group])

    words, count = [], 0
    for word, file in found.first:
        group = group_of(file)
        if any(name in found.does or not found.stamps.get(name) for name in group):
            break
        words.append((f"?begins:{word}" + (f"={file}" if file[0] == "/" else ""), group))
        if found.takes & set(group):
            count = len(words)
    lines += [f"{word}\t-" for word, _ in words[:count]]
    for _, group in words[:count]:
        add(group)
    refused = set(found.does) | (found.takes - taken)
    for root in names:
        group = group_of(root)
        if root in taken or root not in found.stamps or taken & set(group) or refused & set(group):
            continue
        add(group)
    folders = {os.path.dirname(name) for name in found.stamps}
    read = {path for module, path in found.readers if module in taken}
    lines += [f"={path}\t{stamp}" for path, stamp in found.data.items() if path in read and path not in found.stamps
              and path not in folders and os.path.basename(path) not in ("package.json", "node_modules")]
    return lines + [f"~{name}\t-" for name in names if name not in taken and found.stamps.get(name)]


def inspection(node, names, program=None, options=(), environment=None):
    """Returns the trace. `program`: what the manifest names, if it names a script."""
    path = node.write("names", "".join(name + "\n" for name in names))
    words = [node.interpreter, *options, INSPECT, *([program] if program else [])]
    return learning.trace(words, path, environment or node.base)


class Packages:
    """A program's folder with packages."""

    def __init__(self, node, place):
        self.node, self.place = node, place

    def write(self, name, text):
        # A comparison costs more than a smaller group saves.
        padding = "//" + "x" * 40_000 if name.endswith(".js") else ""
        return self.node.write(f"{self.place}/node_modules/{name}", text + padding)

    def path(self, name):
        return f"{self.node.folder}/{self.place}/node_modules/{name}"

    def list(self, *names):
        """Returns the list of a program that has loaded these files in this order."""
        names = [self.path(name) for name in names]
        return listed(inspection(self.node, names), names)


def traces(node, packages):
    for name, (text, _) in MODULES.items():
        packages.write(f"g_{name}/index.js", text + "\n")
    packages.write("g_data/data.txt", "data\n")
    packages.write("g_json/data.json", "{}\n")
    for name, (_, reason) in MODULES.items():
        if not is_wanted(f"trace: {name}"):
            continue
        if name == "crypto" and node.name == "node18":
            reason = "fails"  # because this version has no such global object
        found = inspection(node, [packages.path(f"g_{name}/index.js")])
        does = found.does.get(packages.path(f"g_{name}/index.js"))
        results.report(f"{node.name}: trace: {name}", does == reason, f"{does}, not {reason}")
    found = inspection(node, [packages.path(f"g_{name}/index.js") for name in ("flag", "terminal", "variable", "data", "loads")])
    asked = {f"?argument:--flag={packages.path('g_flag/index.js')}", f"?terminal={packages.path('g_terminal/index.js')}", "G_ONE"}
    results.report(f"{node.name}: trace: questions", asked <= found.reads, str(found.reads))
    results.report(f"{node.name}: trace: which asks for which", (packages.path("g_loads/index.js"), packages.path("g_words/index.js"))
                   in found.needs, str(found.needs))
    results.report(f"{node.name}: trace: a file that is read", found.data.get(packages.path("g_data/data.txt"))
                   == stamp_of(packages.path("g_data/data.txt")), str(found.data))
    packages.write("debug/src/node.js", DEBUG)
    packages.write("depd/index.js", DEPD)
    found = inspection(node, [packages.path("debug/src/node.js"), packages.path("depd/index.js")])
    results.report(f"{node.name}: trace: what is known of debug and depd", not found.does, str(found.does))


# Programs print this besides asking for packages.
TELL = """
console.log(Object.keys(require.cache).map(f => require('path').relative(__dirname, f)), module.children.map(m => m.id.split('/').at(-2)))
for (const m of Object.values(require.cache)) console.log(m.id.split('/').slice(-2).join('/'), m.parent?.id.split('/').at(-1), m.children.length, m.loaded, m.paths.length)
console.log(require('module')._pathCache && Object.keys(require('module')._pathCache).length > 0, 'in' in require.cache)
"""
PROGRAMS = {
    "one package": "console.log(require('tree').name, require('tree') === require('tree'))" + TELL,
    "two packages": "console.log(require('other').x, require('tree').name)" + TELL,
    "nothing": "console.log(1)" + TELL,
    "only one of them": "console.log(require('other').x)" + TELL,
    "a part of one": "console.log(require('leaf').name, require('tree').name)" + TELL,
    "a part, by its file": "console.log(require('./node_modules/tree/inner.js').inner)" + TELL,
    "a package within another module": "require('./own')" + TELL,
    "a package late": "setTimeout(() => { console.log(require('tree').name) }, 1)" + TELL,
    "an import": "import('tree').then((m) => { console.log(m.default.name)" + TELL + "})",
    "a require of its own": "console.log(require('module').createRequire(__filename)('tree').name)",
    "resolve": "console.log(require.cache[require.resolve('tree')], Object.keys(require.cache).length)" + TELL,
    "the cache": "console.log(require.cache[require.resolve('tree')]); console.log(require('tree').name)" + TELL,
    "anew": "const a = require('tree'); delete require.cache[require.resolve('tree')]; console.log(require('tree') === a)" + TELL,
    "a replaced module": "require.cache[require.resolve('leaf')] = {exports: {name: 'mine'}, loaded: true, id: '/a/b', children: [], paths: []};"
                         "console.log(require('tree').name)",
    "another loader": "const m = require('module'), f = m._load; m._load = function (n, ...a) { if (n === 'tree') console.log('loads');"
                      "return f.call(this, n, ...a) }; console.log(require('tree').name)" + TELL,
    "another compiler": "const m = require('module').prototype, f = m._compile; m._compile = function (t, n) { console.log('compiles', n.split('/').at(-1));"
                        "return f.call(this, t, n) }; console.log(require('tree').name)",
    "a patched builtin": "require('path').basename = () => 'patched'; console.log(require('tree').base)",
    "a patched prototype": "Array.prototype.join = () => 'patched'; console.log(require('tree').joined)",
    "another global": "globalThis.gName = 'global'; console.log(require('tree').global)",
    "a changed wrapper": "const m = require('module'), w = m.wrap; m.wrap = (t) => w('console.log(1);' + t); console.log(require('tree').name)",
    "another folder of its own": "require('module').globalPaths.unshift(__dirname + '/more'); require('module')._resolveFilename; console.log(require('tree').name)",
    "a defined module": "Object.defineProperty(require.cache, require.resolve('leaf'), {value: {exports: {name: 'mine'}, loaded: true, id: '/a/b', children: [], paths: []}, configurable: true});"
                        "console.log(require('tree').name)",
    "a patched accessor": "Object.defineProperty(RegExp.prototype, 'flags', {get: () => 'patched'}); console.log(require('tree').flags)",
    "a patched iterator": "const p = Array.prototype, f = p.every; p.every = () => true; p.some = () => false; console.log(require('tree').some, f.length)",
    "a frozen prototype": "Object.freeze(Array.prototype); console.log(require('tree').frozen)",
    "a property that became an accessor": "const f = JSON.stringify; Object.defineProperty(JSON, 'stringify', {get: () => f});"
                                          "console.log(require('tree').accessor)",
    "a patched iterator of arrays": "const p = Object.getPrototypeOf([][Symbol.iterator]()); p.more = 1; console.log(require('tree').iterator)",
    "a patched promise of a file": "require('fs').promises.readFile = 1; console.log(require('tree').promise)",
    "another length of dumps": "require('buffer').INSPECT_MAX_BYTES = 3; console.log(require('tree').dump)",
    "a builtin that takes a patched one": "const net = require('net'); net.createConnection = () => 1; require('tree');"
                                          "console.log(require('http').Agent.prototype.createConnection === net.createConnection)",
    "a frozen error": "Object.freeze(Error); console.log(require('tree').name)",
    "a cache of its own": "require('module')._cache = {}; console.log(require('tree').name)",
    "what is exported": "require('module')._extensions['.js'] = (m) => { m.exports = {name: 'mine'} }; console.log(require('tree').name)",
    "a patched builtin that does not matter": "require('os').cpus = () => 1; console.log(require('tree').name)" + TELL,
    "a variable that is set": "process.env.G_ONE = 'set'; console.log(require('tree').variable)",
    "a variable that is deleted": "delete process.env.FOO; console.log(require('tree').name)",
    "another limit": "Error.stackTraceLimit = 2; console.log(require('tree').name, require('tree').limit)",
    "a missing module of it": "try { require('tree').missing() } catch (e) { console.log(e.message) }",
    "its main module": "console.log(require('tree').isMain, require('tree').parent()?.id)",
    "its stack": "console.log(require('tree').stack())",
    "a circle": "console.log(require('circle').x, require('circle/b').y)" + TELL,
    "a worker": "const w = require('worker_threads'); if (w.isMainThread) new w.Worker(__filename).on('exit', (c) => console.log('w', c));"
                "else console.log(require('tree').name, Object.keys(require.cache).length)",
    "a child": "if (process.argv[2] === 'k') console.log(require('tree').name); else console.log(require('child_process').execFileSync(process.execPath, [__filename, 'k']).toString())",
    "a module that is missing": "try { require('tree/nosuch') } catch (e) { console.log(e.code) } console.log(require('tree').name)" + TELL,
    "a small package": "console.log(require('small').x)" + TELL,
    "an exception": "require('tree').fail()",
    "its text": "console.log(String(require('tree').fail), String(require('tree').Own))",
    "its exit": "process.on('exit', () => console.log(require('other').x)); require('tree')",
}
TREE = """
const path = require('path'), leaf = require('leaf'), inner = require('./inner')
exports.name = 'tree ' + leaf.name + inner.inner
exports.base = path.basename('/a/b')
exports.joined = ['a', 'b'].join()
exports.global = globalThis.gName
exports.variable = process.env.G_ONE
exports.flags = /x/g.flags
exports.some = [1].some((one) => one === 1)
exports.limit = Error.stackTraceLimit
exports.isMain = require.main === module
exports.frozen = Object.isFrozen(Array.prototype)
exports.accessor = 'get' in Object.getOwnPropertyDescriptor(JSON, 'stringify')
exports.iterator = [][Symbol.iterator]().more
exports.promise = typeof require('fs').promises.readFile
exports.dump = require('util').inspect(Buffer.from('abcdef'))
exports.missing = () => require('nosuch')
exports.parent = () => module.parent
exports.stack = () => new Error('x').stack
exports.fail = () => { throw new Error('boom') }
exports.Own = class Own extends require('events') {}
try { require('optional') } catch {}
"""


def programs(node, packages):
    """Tests programs whose packages were loaded before the pause."""
    packages.write("tree/index.js", TREE)
    packages.write("tree/inner.js", "exports.inner = require('leaf').name\n")
    packages.write("tree/package.json", '{"name": "tree", "main": "index.js"}')
    packages.write("leaf/index.js", "exports.name = 'leaf'\n")
    packages.write("runs/index.js", "exports.x = 1; if (require.main === module) console.log('runs', process.argv.length)\n")
    packages.node.write("app/node_modules/small/index.js", "exports.x = 'small'\n")
    packages.write("other/index.js", "exports.x = require('./more').x\n")
    packages.write("other/more.js", "exports.x = 'other'\n")
    packages.write("circle/index.js", "exports.x = 0; const b = require('./b'); exports.x = 1 + b.y\n")
    packages.write("circle/b.js", "const a = require('.'); exports.y = a.x + 5\n")
    node.write("app/own.js", "require('tree')\n")
    imports = packages.list("tree/index.js", "tree/inner.js", "leaf/index.js", "other/index.js", "other/more.js",
                            "circle/index.js", "circle/b.js", "small/index.js", "runs/index.js")
    # A version that looks for packages in folders of the system also reads those.
    results.report(f"{node.name}: a list of five packages", len([line for line in imports if "/app/" in line]) == 9, str(imports))
    subprocess.run([node.interpreter, "-e", ""], env=node.base, check=True)  # so that the files are older than a pause
    for name, text in PROGRAMS.items():
        script = node.write(f"app/{name.replace(' ', '_').replace(',', '')}.js", text + "\n")
        node.same(f"learned: {name}", [script, "x"], environment=node.base, imports=imports, hides=cases_node.HIDES)
    node.write("app/esm.mjs", "import tree from 'tree'\nimport { x } from 'other'\nconsole.log(tree.name, x, import.meta.url)\n")
    node.same("learned: an ECMAScript module", [node.folder + "/app/esm.mjs"], environment=node.base, imports=imports)
    for name in ("tree/index.js", "leaf", "tree/inner", "runs/index.js", "runs"):
        node.same(f"learned: a listed module as the program: {name}", [packages.path(name), "x"], environment=node.base, imports=imports)
    script = node.folder + "/app/one_package.js"
    node.same_on_terminal("learned: one package", [script], [], environment=node.base, imports=imports)
    node.same("learned: another folder of packages", [script], environment=dict(node.base, NODE_PATH=node.folder),
              prewarm=node.base, imports=imports)
    node.same("learned: a package that was optional", [script], environment=node.base, imports=imports, anew=CHANGED,
              change=lambda _: packages.write("optional/index.js", "console.log('optional')\n"))
    shutil.rmtree(packages.path("optional"), ignore_errors=True)
    subprocess.run([node.interpreter, "-e", ""], env=node.base, check=True)
    node.same("learned: an edited package", [script], environment=node.base, imports=imports, anew=CHANGED,
              change=lambda _: packages.write("leaf/index.js", "exports.name = 'edited'\n"))
    node.refused("learned: another file than was inspected", imports=imports, environment=node.base)


def writes(node, packages):
    """Tests a program that writes a package, and then asks for it."""
    packages.write("written/index.js", "exports.x = 1\n")
    imports = packages.list("written/index.js")
    script = node.write("app/writes.js", "require('fs').writeFileSync(__dirname + '/node_modules/written/index.js', 'exports.x = 2')\n"
                        "console.log(require('written').x)\n")
    subprocess.run([node.interpreter, "-e", ""], env=node.base, check=True)
    paused = node.pause(imports=imports, environment=node.base)
    try:
        outcome = instance.run_prewarmed(paused, [node.interpreter, script], node.base, node.folder)
    finally:
        paused.end()
    results.report(f"{node.name}: learned: a package that the program writes", (outcome.output, paused.anew) == (b"2\n", 0),
                   f"{outcome.output} {outcome.errors} {paused.anew}")


def opens(node, script, file, imports):
    """The system calls by which the program opens the file: a file that was loaded before the pause can be missing for as long
    as the program looks at nothing. None if there is no strace."""
    paused = node.pause(imports=imports, environment=node.base)
    path = node.folder + "/calls"
    try:
        tracer = subprocess.Popen(["strace", "-f", "-qq", "-e", "trace=open,openat", "-o", path, "-p", str(paused.process.pid)],
                                  stderr=subprocess.PIPE)
    except FileNotFoundError:
        paused.end()
        return None
    while "TracerPid:\t0" in open(f"/proc/{paused.process.pid}/status").read():
        if tracer.poll() is not None:
            break
    instance.run_prewarmed(paused, [node.interpreter, script], node.base, node.folder)
    paused.end()
    tracer.wait()
    with open(path) as calls:
        return [line for line in calls if file in line]


def kept(node, packages):
    """Whether the program's package comes from before the pause, or is run again: then it reads its file again."""
    packages.write("reads/index.js", "exports.x = require('fs').readFileSync(__dirname + '/mark.txt', 'utf8')\n")
    packages.write("reads/mark.txt", "mark\n")
    imports = packages.list("reads/index.js")
    subprocess.run([node.interpreter, "-e", ""], env=node.base, check=True)
    for name, before, is_kept in (("nothing", "", True), ("a property that is set back", "const p = Error.prepareStackTrace; Error.prepareStackTrace = p; ", True),
                                  ("the emitter of signal-exit", "process.__signal_exit_emitter__ = {}; ", True),
                                  ("another property", "process.gOwn = 1; ", False)):
        script = node.write("app/reads.js", before + "console.log(require('reads').x)\n")
        opened = opens(node, script, packages.path("reads/mark.txt"), imports)
        results.report(f"{node.name}: learned: kept after {name}", opened is None or is_kept == (not opened), str(opened))


def questions(node, packages):
    """The questions of a module are asked again when the program wants the module."""
    packages.write("flags/index.js", "exports.x = process.argv.includes('--flag') ? 'flag' : 'none'\n")
    packages.write("colours/index.js", "exports.x = [1, 2].map((n) => require('tty').isatty(n))\n")
    imports = packages.list("flags/index.js", "colours/index.js", "debug/src/node.js", "depd/index.js")
    results.report(f"{node.name}: a list with questions", len([line for line in imports if line[0] == "?"]) >= 6, str(imports))
    subprocess.run([node.interpreter, "-e", ""], env=node.base, check=True)
    script = node.write("app/flags.js", "console.log(require('flags').x, process.argv.slice(2))\n")
    for words in ([], ["--flag"], ["x", "--flag=1"]):
        node.same(f"learned: a word {words}", [script, *words], environment=node.base, imports=imports)
    script = node.write("app/colours.js", "console.log(require('colours').x)\n")
    node.same_on_both("learned: a terminal", [script], environment=node.base, imports=imports)
    script = node.write("app/debugs.js", "const d = require('debug/src/node.js'); d.log('one'); console.error('two'); d.log('three')\n")
    node.same_on_both("learned: the stream of errors", [script], environment=node.base, imports=imports)
    node.same("learned: variables with a prefix", [script], environment=dict(node.base, DEBUG_DEPTH="3"), prewarm=node.base,
              imports=imports)
    script = node.write("app/where.js", "console.log(require('depd').where('/etc/x'))\n")
    node.same("learned: the directory of a warning", [script], environment=node.base, imports=imports, directory="app")


def changes(node, packages):
    """Tests changes between the pause and the launch."""
    def renew():
        subprocess.run([node.interpreter, "-e", ""], env=node.base, check=True)

    packages.node.write("app/node_modules/dropped/package.json", '{"main": "one.js"}')
    for name in ("one", "two"):
        packages.node.write(f"app/node_modules/dropped/{name}.js", f"exports.x = '{name}'\n")
    imports = packages.list("dropped/one.js")
    script = node.write("app/dropped.js", "console.log(require('dropped').x)\n")
    renew()
    node.same("learned: another main file of a small package", [script], environment=node.base, imports=imports, anew=CHANGED,
              change=lambda _: packages.node.write("app/node_modules/dropped/package.json", '{"main": "two.js"}'))

    for name in ("hours", "minutes"):
        packages.write(f"{name}/index.js", "exports.x = new Date(0).getHours()\n")
    # The inspection refuses only the first of these modules, because V8 keeps the zone.
    imports = [f"{packages.path(name)}\t{stamp_of(packages.path(name))}" for name in ("hours/index.js", "minutes/index.js")]
    script = node.write("app/hours.js", "console.log(require('hours').x, require('minutes').x)\n")
    renew()
    node.same("learned: another zone", [script], environment=dict(node.base, TZ="Asia/Tokyo"), prewarm=node.base, imports=imports)

    packages.write("tries/lib/index.js", "try { exports.x = require('../more/own') } catch { exports.x = 'none' }\n")
    packages.write("tries/package.json", '{"main": "lib/index.js"}')
    packages.node.write("app/node_modules/tries/more/other.txt", "")
    imports = packages.list("tries/lib/index.js")
    script = node.write("app/tries.js", "console.log(require('tries').x)\n")
    renew()
    node.same("learned: a file that was optional, in another folder", [script], environment=node.base, imports=imports, anew=CHANGED,
              change=lambda _: packages.node.write("app/node_modules/tries/more/own.js", "module.exports = 'own'\n"))

    packages.write("asks/index.js", "try { exports.x = require('of_home') } catch { exports.x = 'none' }\n")
    imports = packages.list("asks/index.js")
    script = node.write("app/asks.js", "console.log(require('asks').x)\n")
    environment = dict(node.base, HOME=node.folder + "/home")
    os.makedirs(node.folder + "/home")
    renew()
    node.same("learned: a folder of packages that appears", [script], environment=environment, imports=imports, anew=CHANGED,
              change=lambda _: node.write("home/.node_modules/of_home.js", "module.exports = 'own'\n"))

    # A file that only a refused module reads may change.
    packages.write("caches/index.js", "exports.x = require('fs').readFileSync(__dirname + '/cache/one', 'utf8') + Date.now()\n")
    packages.write("caches/cache/one", "1")
    packages.write("beside/index.js", "exports.x = 1\n")
    imports = packages.list("caches/index.js", "beside/index.js")
    script = node.write("app/beside.js", "console.log(require('beside').x)\n")
    renew()
    node.same("learned: a file of a refused module that changes", [script], environment=node.base, imports=imports,
              change=lambda _: packages.write("caches/cache/one", "2"))

    # Other files may be written beside or above the packages.
    node.write("top/app/node_modules/alone.js", "exports.x = 1\n//" + "x" * 40_000)
    path = node.folder + "/top/app/node_modules/alone.js"
    script = node.write("top/app/alone.js", "console.log(require('alone').x)\n")
    renew()
    node.same("learned: a file that appears above the packages", [script], environment=node.base,
              imports=[f"{path}\t{stamp_of(path)}"], change=lambda _: (node.write("top/new", ""), node.write("top/app/new", "")))

    # A module that was not inspected does not run: another user may have written it.
    packages.write("careful/index.js", "try { require('surprise') } catch {}\n")
    imports = packages.list("careful/index.js")
    packages.write("surprise/index.js", f"require('fs').writeFileSync('{node.folder}/surprised', '')\n")
    renew()
    node.refused("learned: a module that was not inspected", imports=imports, environment=node.base)
    results.report(f"{node.name}: learned: a module that was not inspected: does not run",
                   not os.path.exists(node.folder + "/surprised"))
    shutil.rmtree(packages.path("surprise"))


def recording(node, packages):
    packages.write("recorded/index.js", "require('leaf'); require('os')\n")
    script = node.write("app/records.js", "require('./own'); require('recorded')\n")
    names = learning.record(node, [script], node.base, node.folder, node.folder + "/list") or []
    own = [name[len(packages.path("")):] for name in names if name.startswith("/")]
    results.report(f"{node.name}: learned: what is recorded", len(own) == len(names)
                   and own == ["tree/index.js", "leaf/index.js", "tree/inner.js", "recorded/index.js"], str(names))
    node.same("learned: recording changes nothing", [script], environment=node.base,
              prewarm=dict(node.base, GREENROOM_RECORD=node.folder + "/nobody"))
    script = node.write("app/listens.js", "console.log(process.listenerCount('exit'), process.eventNames(), Object.keys(process).includes('emit'))\n"
                        "process.on('exit', (code) => console.log('exit', code))\n")
    node.same("learned: recording adds no listener", [script], environment=node.base,
              prewarm=dict(node.base, GREENROOM_RECORD=node.folder + "/nobody"))
    # The list is recorded, inspected and loaded.
    node.same("learned: a recorded list", [script], environment=node.base, imports=listed(inspection(node, names), names))


def shared(node, packages):
    """Two packages that need a third are never both in a list."""
    packages.write("registry/index.js", "const all = []; exports.add = (x) => all.push(x); exports.all = () => all.join()\n")
    packages.write("first/index.js", "require('registry').add('first')\n")
    packages.write("second/index.js", "require('registry').add('second'); exports.all = require('registry').all\n")
    imports = packages.list("first/index.js", "registry/index.js", "second/index.js")
    results.report(f"{node.name}: a list of two that share a third", [line.split("\t")[0] for line in imports if line[0] in "/~"]
                   == [packages.path("first/index.js"), packages.path("registry/index.js"), "~" + packages.path("second/index.js")],
                   str(imports))
    subprocess.run([node.interpreter, "-e", ""], env=node.base, check=True)
    for name, text in (("both", "require('first'); console.log(require('second').all())"),
                       ("the other", "console.log(require('second').all())"),
                       ("both, the other way round", "require('second'); require('first'); console.log(require('second').all())")):
        script = node.write(f"app/shares_{name.replace(' ', '_').replace(',', '')}.js", text + "\n")
        node.same(f"learned: packages that share one: {name}", [script], environment=node.base, imports=imports)
    lines = [f"{packages.path(name)}\t{stamp_of(packages.path(name))}" for name in
             ("first/index.js", "registry/index.js", "second/index.js")]
    node.refused("learned: a list of packages that share one", imports=lines, environment=node.base)


def links(node, packages):
    """A package that is linked to its sources is not loaded before the pause."""
    node.write("sources/linked/index.js", "exports.x = 1\n")
    os.symlink(node.folder + "/sources/linked", packages.path("linked"))
    script = node.write("app/linked.js", "console.log(require('linked').x)\n")
    names = learning.record(node, [script], node.base, node.folder, node.folder + "/list") or []
    results.report(f"{node.name}: learned: a linked package is not recorded", not [name for name in names if "linked" in name], str(names))
    packages.write("links/index.js", "exports.x = require('linked').x\n")
    found = inspection(node, [packages.path("links/index.js")])
    results.report(f"{node.name}: trace: a package that needs a linked one",
                   found.does.get(node.folder + "/sources/linked/index.js") == "opens", str(found.does))


def others(node, packages):
    """A file that another user can write is not run."""
    if os.geteuid() != 0:
        return results.skip(f"{node.name}: a package of another user", "this needs root")
    packages.write("foreign/index.js", "exports.x = 1\n")
    packages.write("open/index.js", "exports.x = 1\n")
    packages.write("needs_foreign/index.js", "exports.x = require('foreign').x\n")
    os.chown(packages.path("foreign/index.js"), 65534, 65534)
    os.chmod(packages.path("open"), 0o777)
    packages.write("sticky/index.js", "exports.x = 1\n")
    os.chmod(packages.path("sticky/index.js"), 0o1666)
    packages.write("grouped/index.js", "exports.x = 1\n")
    os.chown(packages.path("grouped/index.js"), 0, 65534)
    os.chmod(packages.path("grouped/index.js"), 0o664)
    found = inspection(node, [packages.path(f"{name}/index.js") for name in
                              ("foreign", "open", "needs_foreign", "sticky", "grouped", "leaf")])
    does = {os.path.basename(os.path.dirname(name)): reason for name, reason in found.does.items()}
    return results.report(f"{node.name}: trace: packages of another user",
                          does == {"foreign": "fails", "open": "fails", "needs_foreign": "fails", "sticky": "fails", "grouped": "fails"}, str(does))


def tools(node, packages):
    """Unmodified tools: as an app does, each learns from one launch what serves all. An inspection of ESLint takes half a
    minute."""
    environment, lists = cases_node.environment_of_tools(node), {}
    for tool, words in cases_node.found_tools(node):
        title = f"learned: {os.path.basename(tool)} {' '.join(words)}"
        if not is_wanted(title):
            continue
        if tool not in lists:
            try:
                names = learning.record(node, [tool, *words], environment, node.folder, node.folder + "/list") or []
                path = node.write("names", "".join(name + "\n" for name in names))
                imports = listed(learning.trace([node.interpreter, INSPECT], path, environment), names)
            except instance.Refused as refusal:
                names, imports = [], []
                results.report(f"{node.name}: {title}: is inspected", False, str(refusal))
            lists[tool] = imports, f"{len(imports)} lines for {len(names)} modules"
        imports, count = lists[tool]
        node.same(f"{title}, {count}", [tool, *words], environment=environment, imports=imports, hides=cases_node.HIDES_OF_TOOLS)
        node.same_on_terminal(f"{title}, {count}", [tool, *words], [], environment=environment, imports=imports,
                              hides=cases_node.HIDES_OF_TOOLS)


def run():
    major = None
    for path, major in cases_node.interpreters():
        base = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        node = cases_node.language("node" + major, path, base)
        packages = Packages(node, "app")
        for part in (traces, programs, kept, changes, writes, questions, recording, shared, links, others, tools):
            part(node, packages)
        node.end()
    if major is None:
        results.skip("node", "there is no node")
