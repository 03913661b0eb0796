"""Node: facts that could show an early load of a module. Each module is refused, or the program sees no difference."""
import base64
import os
import subprocess

import cases_node
import instance
import results
from cases_node_learning import Packages, inspection, listed
from comparing import is_wanted

# A module, and the reason for which it is never loaded before the pause.
REFUSED = {
    "inspects the variables": ("exports.x = require('util').inspect(process.env)", "variables"),
    "inspects the arguments": ("exports.x = require('util').format('%o', process.argv)", "arguments"),
    "asks for an argument by its descriptor": ("exports.x = Object.hasOwn(process.argv, 2)", "arguments"),
    "sets the prototype of the variables": ("Object.setPrototypeOf(process.env, {gProto: 1})", "state"),
    "counts listeners": ("exports.x = process.listenerCount('exit')", "state"),
    "lists listeners": ("exports.x = process.listeners('exit').length", "state"),
    "names events": ("exports.x = process.eventNames()", "state"),
    "looks at the events": ("exports.x = Object.keys(process._events)", "state"),
    "emits an event": ("process.emit('hello')", "state"),
    "counts handles": ("exports.x = process._getActiveHandles().length", "state"),
    "asks for its user": ("exports.x = process.getuid()", "state"),
    "asks for its priority": ("exports.x = require('os').getPriority()", "time"),
    "asks for its processors": ("exports.x = require('os').availableParallelism()", "time"),
    "asks for its place in asynchronous work": ("exports.x = require('async_hooks').executionAsyncId()", "state"),
    "keeps a weak reference": ("exports.x = new WeakRef({})", "state"),
    "waits for the collector": ("new FinalizationRegistry(() => {}).register({}, 1)", "state"),
    "rejects a promise": ("exports.x = Promise.reject(7)", "async"),
    "declares a name for all scripts": ("require('vm').runInThisContext('const gLexical = 1')", "state"),
    "declares a name by a script": ("new (require('vm').Script)('let gLexical = 1').runInThisContext()", "state"),
    "observes the performance": ("new (require('perf_hooks').PerformanceObserver)(() => {}).observe({entryTypes: ['mark']})", "state"),
    "asks for marks": ("exports.x = performance.getEntriesByName('a')", "time"),
    "begins a timer of the console": ("console.time('a')", "time"),
    "keeps an error of a missing module": ("let e; try { require('nosuch') } catch (x) { e = x } exports.x = () => e", "caller"),
    "keeps the text of such an error": ("try { require('nosuch') } catch (x) { exports.x = x.message }", "caller"),
    "keeps an error of a missing file": ("try { require('fs').readFileSync(__dirname + '/no') } catch (x) { exports.x = x }", "caller"),
    "keeps an error of V8": ("try { null.x } catch (x) { exports.x = x }", "caller"),
    "keeps a part of the loader": ("exports.x = require('module')._load", "known"),
    "loads a builtin module by that": ("exports.x = module.constructor._load('path')", "known"),
    "resolves a file elsewhere": ("try { require.resolve('x', {paths: ['/etc']}) } catch {}", "opens"),
    "resolves as another module": ("try { require('module').createRequire('/etc/x')('y') } catch {}", "opens"),
    "asks for the main module by its name": ("exports.x = require['main']?.filename", "caller"),
    "takes the main module apart": ("const { main } = require; exports.x = main === module", "caller"),
    "inspects its function require": ("exports.x = require('util').inspect(require)", "caller"),
    "makes an error in another context": ("exports.x = require('vm').runInNewContext('new Error(\"x\")')", "caller"),
    "makes an event": ("exports.x = new Event('x').timeStamp", "time"),
    "sets its parent": ("module.parent = null", "caller"),
    "sets the main module": ("process.mainModule = module", "caller"),
    "adds a folder for modules": ("require('module').globalPaths.push('/x')", "state"),
    "adds an emitter as signal-exit does": ("process.__signal_exit_emitter__ = {}", "state"),
    "sets the domain": ("process.domain = {a: 1}", "state"),
    "adds a preloaded module": ("process._preload_modules.push('x')", "state"),
    "gives its cache away": ("exports.x = [require].map((r) => Object.keys(r.cache))", "order"),
}
MAP = base64.b64encode(b'{"version":3,"sources":["orig.ts"],"names":[],"mappings":"AAAA"}').decode()
SHOW = "console.log(require('m').x)"
# A module that is loaded before the pause, and a program that would print a difference. `files`: other
# files beside the program. `packages`: other packages in the list. `options`: options of Node.
LISTED = {
    "an error that is dropped": ("try { require('nosuch') } catch {} try { null.x } catch {} exports.x = 1", SHOW, {}),
    "a property that is set back to nothing": ("const p = Error.prepareStackTrace; Error.prepareStackTrace = () => 1; "
        "Error.prepareStackTrace = p; exports.x = 1", "const show = () => console.log(Object.getOwnPropertyDescriptor(Error, "
        "'prepareStackTrace'), Object.getOwnPropertyNames(Error)); show(); require('m'); show()", {}),
    "a property without a value that the program leaves": ("exports.x = Error.prepareStackTrace", "Error.prepareStackTrace = undefined; " + SHOW
        + "; console.log(Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace'), require('m').x)", {}),
    "a way to show stacks": ("exports.x = typeof Error.prepareStackTrace", "Error.prepareStackTrace = () => 'mine'; " + SHOW, {}),
    "a way to show stacks, by an accessor": ("exports.x = typeof Error.prepareStackTrace", "Object.defineProperty(Error, 'prepareStackTrace', "
        "{get: () => () => 'mine', configurable: true}); " + SHOW, {}),
    "a property that nobody may write": ("const p = Error.prepareStackTrace; Error.prepareStackTrace = p; exports.x = 1", "Object.defineProperty(Error, 'prepareStackTrace', "
        "{value: undefined, configurable: true}); try { 'use strict'; " + SHOW + " } catch (e) { console.log(e.message) } "
        "console.log(Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace'))", {}),
    "an emitter of signal-exit": ("exports.x = 1", "process.__signal_exit_emitter__ = {}; " + SHOW + "; console.log(Object.keys(process).at(-1))", {}),
    "another property of the process": ("exports.x = process.gOwn", "process.gOwn = 1; " + SHOW, {}),
    "the exit code": ("exports.x = process.exitCode", "process.exitCode = 3; " + SHOW, {}),
    "preloading": ("exports.x = module.isPreloading", SHOW, {}),
    "the preloaded modules": ("exports.x = 1", "require('m'); console.log(process._preload_modules)", {}),
    "a kept function for the directory": ("exports.x = process.cwd", "console.log(require('m').x === process.cwd)", {}),
    "a kept function for a module": ("exports.x = module.require", "console.log(String(require('m').x))", {}),
    "what is not shown in the cache": ("exports.x = 1", "const f = require.resolve('m'); console.log(f in require.cache, "
        "Object.getOwnPropertyNames(require.cache).length, Object.hasOwn(require.cache, f), require.cache)", {}),
    "a closed cache": ("exports.x = 1", "Object.preventExtensions(require.cache); try { require('m') } catch (e) { console.log(e.message) }", {}),
    "a closed cache, for another module": ("exports.x = 1", "Object.preventExtensions(require.cache); "
        "try { require('./own') } catch (e) { console.log(e.message) }", {"files": {"own.js": "exports.x = 1"}}),
    "a warning of its parent": ("exports.x = 1", SHOW, {"options": ["--pending-deprecation"]}),
    "a sequence of numbers": ("exports.x = Math.random()", "console.log(Math.random())", {"options": ["--random-seed=42"]}),
    "a frozen function require": ("Object.freeze(require); exports.x = 1", SHOW, {}),
    "a file that was asked for before": ("exports.x = require('./leaf').x", "require('m/leaf'); const M = require('module'), "
        "f = M._resolveFilename; M._resolveFilename = function (r, ...a) { return r === './leaf' ? __dirname + '/own.js' : "
        "f.call(this, r, ...a) }; " + SHOW, {"packages": {"m/leaf.js": "exports.x = 'leaf'"}, "files": {"own.js": "exports.x = 'own'"}}),
    "another file system": ("exports.x = 1", "const b = process.binding('fs'); for (const k of ['open', 'readFileUtf8']) b[k] = () => "
        "{ throw new Error('mocked') }; let r; try { r = require('m').x } catch (e) { r = e.message } process._rawDebug(r)", {}),
    "another user": ("exports.x = 1", "process.getuid() || process.setuid(65534); "
        "try { " + SHOW + " } catch (e) { console.log(e.code) }", {}),
    "a patched console": ("exports.x = String(console.Console.prototype.log)", "console.Console.prototype.log = function patched() {}; " + SHOW, {}),
    "a patched iterator": ("exports.x = [...new URLSearchParams('a=1')].length", "Object.getPrototypeOf(new URLSearchParams('a=1').entries())"
        ".next = () => ({done: true}); " + SHOW, {}),
    "hooks of modules": ("exports.x = 1", "require('module').registerHooks?.({load(u, c, n) { process._rawDebug('load', u.split('/').at(-2)); "
        "return n(u, c) }}); " + SHOW, {}),
    "a deleted module": ("exports.x = {}", "const f = require.resolve('m'); console.log(delete require.cache[f], require('m') === require('m'))", {}),
    "a cache with another prototype": ("exports.x = 1", "const f = require.resolve('m'); Object.setPrototypeOf(require.cache, "
        "{[f]: {exports: {x: 'mine'}, loaded: true, children: []}}); " + SHOW, {}),
    "resolved paths": ("require('n'); require('./o')", "require('m'); console.log(Object.keys(require('module')._pathCache))",
        {"packages": {"n/index.js": "exports.x = 1", "m/o.js": "exports.y = 1"}}),
    "data that is changed first": ("exports.x = require('./d.json').a", "require('m/d.json').a = 5; " + SHOW,
        {"packages": {"m/d.json": '{"a": 1}'}}),
    "the main module, later": ("exports.x = () => require.main === process.mainModule", "console.log(require('m').x(), require.main === module)", {}),
    "the main module by a bundle": ("const r = typeof require == 'function' && require; exports.x = () => r.main === process.mainModule",
        "console.log(require('m').x())", {}),
    "the main module of a module": ("exports.x = () => String(require.main)", "import m from 'm'; console.log(m.x())", {"script": "main.mjs"}),
    "a module that becomes the program": ("exports.x = require.main === module", "require('module')._load(require.resolve('m'), null, true); "
        "console.log(require('m').x, process.mainModule.id, process.mainModule === module)", {}),
    "a module that is run": ("exports.x = 1; if (require.main === module) console.log('main')", "process.argv[1] = require.resolve('m'); require('module').runMain()", {}),
    "a module of nobody": ("exports.x = () => module.parent", "console.log(require('module')._load(require.resolve('m')).x()?.id)", {}),
    "a module of another": ("exports.x = () => module.parent.id", "console.log(require('./own').require('m').x())", {"files": {"own.js": "module.exports = module"}}),
    "modules of a loop": ("exports.x = () => module.parent.id", "console.log(['m'].map(require)[0].x())", {}),
    "a module of a timer": ("exports.x = () => module.parent?.id", "setTimeout(require, 1, 'm'); setTimeout(() => console.log(require('m').x()), 20)", {}),
    "an earlier import": ("exports.x = globalThis.gName", "import './first.mjs'; import m from 'm'; console.log(m.x)",
        {"script": "main.mjs", "files": {"first.mjs": "globalThis.gName = 'set'"}}),
    "an import that waits": ("exports.x = globalThis.gName", "import './first.mjs'; import m from 'm'; console.log(m.x)",
        {"script": "main.mjs", "files": {"first.mjs": "globalThis.gName = await Promise.resolve('set')"}}),
    "source maps that are switched on": ("exports.x = () => { throw new Error('x') }\n//# sourceMappingURL=data:application/json;base64," + MAP + "\n",
        "process.setSourceMapsEnabled(true); try { require('m').x() } catch (e) { console.log(e.stack) }", {}),
    "source maps that nobody has asked for": ("exports.x = 1\n//# sourceMappingURL=data:application/json;base64," + MAP + "\n",
        "console.log(require('module').findSourceMap(require.resolve('m')), require('m').x)", {"options": ["--enable-source-maps"]}),
    "counted calls": ("exports.x = () => 1; exports.x()", "const s = new (require('inspector').Session)(); s.connect(); s.post('Profiler.enable');"
        "s.post('Profiler.startPreciseCoverage', {callCount: true}); require('m'); s.post('Profiler.takePreciseCoverage', (_, r) => "
        "console.log(r.result.filter((one) => one.url.includes('/m/')).map((one) => one.functions[0].ranges[0].count)))", {}),
    "a patched array of numbers": ("exports.x = new Uint8Array([1, 2]).join()", "Object.getPrototypeOf(Uint8Array.prototype).join = () => 'patched'; " + SHOW, {}),
    "a patched format of numbers": ("exports.x = new Intl.NumberFormat('en').formatToParts(1).length",
        "Intl.NumberFormat.prototype.formatToParts = () => 'patched'; " + SHOW, {}),
    "a patched colour": ("exports.x = require('util').inspect.colors.red[0]", "require('util').inspect.colors.red[0] = 99; " + SHOW, {}),
    "hooks of asynchronous work": ("exports.x = require('path').sep", "require('fs'); require('path'); require('async_hooks').createHook("
        "{init(_, t) { require('fs').writeSync(1, t + '\\n') }}).enable(); require('m')", {}),
    "the last match": ("exports.x = process.argv.includes('--flag')", "/b(.)/.test('abc'); require('./node_modules/m/index.js'); console.log(RegExp.$1)", {}),
    "the standard input": ("exports.x = require('path').sep", "require('m'); process.stdin.on('data', (d) => console.log(String(d), process.stdin.constructor.name))", {}),
    "replaced words": ("exports.x = process.argv.includes('--flag')", "process.argv.push('--flag'); " + SHOW, {}),
    "a replaced array of words": ("const { argv } = process; exports.x = () => argv", "process.argv = ['a']; console.log(require('m').x())", {}),
    "replaced variables": ("const { env } = process; exports.x = () => env.G_ONE", "process.env = {G_ONE: 1}; console.log(require('m').x())", {}),
    "a module that two have": ("exports.x = Symbol.for('a') === Symbol.for('a') && require('n').list", "require('n').list.push(2); " + SHOW,
        {"packages": {"n/index.js": "exports.list = [1]"}}),
    "another wrapper": ("exports.x = 1", "require('module').wrapper[0] += 'console.log(1);'; " + SHOW, {}),
    "a child": ("exports.x = 1", "const c = require('child_process'); if (process.send) { process.send([require('m').x, process.execArgv, "
        "process._preload_modules]) } else c.fork(__filename).on('message', (m) => console.log(m, require('m').x))", {}),
    "a worker": ("exports.x = 1", "const w = require('worker_threads'); if (w.isMainThread) new w.Worker(__filename).on('exit', () => console.log(require('m').x)); "
        "else console.log(require('m').x, process._preload_modules)", {}),
    "an import in text": ("exports.x = () => module.parent.id", "console.log(eval(\"require('m')\").x())", {}),
    "a require of another module": ("exports.x = () => module.parent.id", "console.log(require('./own')(require).x())",
        {"files": {"own.js": "module.exports = (r) => r('m')"}}),
    "a require in another script": ("exports.x = () => module.parent?.id", "const f = require('vm').runInThisContext('(r) => r(\"m\")', 'x.js'); console.log(f(require).x())", {}),
}


def refused(node, packages):
    files = {name: packages.write(name.replace(" ", "_") + "/index.js", text) for name, (text, _) in REFUSED.items() if is_wanted(name)}
    found = inspection(node, list(files.values()))
    for name, file in files.items():
        reason = REFUSED[name][1]
        does = found.does.get(file)
        results.report(f"{node.name}: refused: {name}", does == reason, f"{does}, not {reason}")


def hidden(node):
    for i, (name, (text, program, more)) in enumerate(LISTED.items()):
        if not is_wanted(name):
            continue
        packages = Packages(node, f"hidden{i}")
        for path, other in {"m/index.js": text, **more.get("packages", {})}.items():
            packages.write(path, other + "\n")
        for path, other in more.get("files", {}).items():
            node.write(f"hidden{i}/{path}", other + "\n")
        script = node.write(f"hidden{i}/" + more.get("script", "main.js"), program + "\n")
        names = [packages.path("m/index.js")]
        imports = listed(inspection(node, names), names)
        results.report(f"{node.name}: hidden: {name}: is listed", any(line[0] == "/" for line in imports), str(imports))
        subprocess.run([node.interpreter, "-e", ""], env=node.base, check=True)  # so that the files are older than a pause
        node.same(f"hidden: {name}", [script, "x"], options=more.get("options", []), environment=node.base, imports=imports,
                  hides=cases_node.HIDES)


def resolves_later(node, packages):
    """A module has looked for a file in a folder where Node does not look."""
    packages.write("looks/lib/index.js", "try { exports.x = require.resolve('../more/later.js') } catch { exports.x = 'none' }\n")
    node.write("app/node_modules/looks/more/other.txt", "")
    packages.write("looks/package.json", '{"main": "lib/index.js"}')
    imports = packages.list("looks/lib/index.js")
    script = node.write("app/looks.js", "console.log(require('looks').x)\n")
    subprocess.run([node.interpreter, "-e", ""], env=node.base, check=True)
    node.same("hidden: a file that is resolved", [script], environment=node.base, imports=imports, anew=instance.CHANGED,
              change=lambda _: node.write("app/node_modules/looks/more/later.js", ""))


def run():
    major = None
    for path, major in cases_node.interpreters():
        base = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        node = cases_node.language("node" + major, path, base)
        packages = Packages(node, "app")
        refused(node, packages)
        hidden(node)
        resolves_later(node, packages)
        node.end()
    if major is None:
        results.skip("node", "there is no node")
