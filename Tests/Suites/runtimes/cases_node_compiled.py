"""Node: modules that are compiled before the pause, and run at the launch. The program sees no difference."""
import base64
import os
import subprocess

import cases_node
import instance
import results
from cases_node_learning import Packages, opens
from comparing import is_wanted
from instance import CHANGED

MAP = base64.b64encode(b'{"version":3,"sources":["orig.ts"],"names":[],"mappings":"AAAA"}').decode()
# This makes the inspection refuse a module, and stands in its last line.
REFUSED = "\nexports.count = process.argv.length"
SHOW = "console.log(require('m').x)"
SITES = """const p = Error.prepareStackTrace, l = Error.stackTraceLimit; Error.stackTraceLimit = 50
Error.prepareStackTrace = (_, sites) => sites.map((s) => [s.getFileName(), s.getLineNumber(), s.getColumnNumber(), s.getFunctionName(),
  s.getTypeName(), s.isNative(), s.isToplevel(), s.isEval(), s.isConstructor(), s.isAsync(), s.getEvalOrigin(), s.getThis() === undefined,
  s.getFunction() === undefined, s.getScriptNameOrSourceURL?.(), String(s)].join())
exports.x = new Error('x').stack; Error.prepareStackTrace = p; Error.stackTraceLimit = l"""
STATE = """const shown = (o, k) => { const p = Object.getOwnPropertyDescriptor(o, k); return [typeof p?.get, typeof p?.value, p?.enumerable, p?.writable] }
const M = require('module')
exports.x = [Object.getOwnPropertyNames(module), Object.getOwnPropertySymbols(module).map((s) => [String(s), module[s]]), shown(M.prototype, '_compile'),
  shown(module, '_compile'), shown(require('fs'), 'readFileSync'), module.loaded, module.children.length, module.parent?.id, require.main?.id,
  Object.keys(require('fs')).join(), Object.keys(M).join(), Object.keys(require), this === exports, arguments.length, arguments[2] === module]"""
WITH_STATE = SHOW.replace("m').x", "m').x.flat()") + "; const shown = (o, k) => { const p = Object.getOwnPropertyDescriptor(o, k); " \
    "return [typeof p?.get, typeof p?.value, p?.enumerable] }; console.log(shown(require('fs'), 'readFileSync'), shown(require('module').prototype, " \
    "'_compile'), Object.getOwnPropertyNames(require.cache[require.resolve('m')]))"
# A module that is compiled before the pause, and a program that would print a difference. `files`: other files beside the
# program. `packages`: other packages in the list. `options`: options of Node. `variables`: of the launch and the prewarm.
COMPILED = {
    "a value": ("exports.x = 1", SHOW, {}),
    "a stack": ("exports.x = new Error('x').stack", SHOW, {}),
    "a stack in the first line": ("exports.x = (() => { return new Error('x').stack })();", SHOW, {}),
    "a long trace": ("Error.stackTraceLimit = 100; console.trace('here')", SHOW, {}),
    "a short trace": ("Error.stackTraceLimit = 2; exports.x = new Error('x').stack", SHOW, {}),
    "places of calls": (SITES, "console.log(require('m').x.join('\\n'))", {}),
    "places of later calls": ("exports.f = () => new Error('x').stack; exports.x = exports.f()", SHOW + "; console.log(require('m').f())", {}),
    "an exception": ("throw new TypeError('boom')", SHOW, {}),
    "an exception that is caught": ("throw new TypeError('boom')", "try { require('m') } catch (e) { console.log(e.stack) } "
        "try { require('m') } catch (e) { console.log(e.stack, Object.keys(require.cache).length, module.children.length) }", {}),
    "an exception of a module within": ("exports.x = require('n').x", "try { require('m') } catch (e) { console.log(e.stack) }",
        {"packages": {"n/index.js": "throw new RangeError('n')"}}),
    "a thrown value": ("throw 7", SHOW, {}),
    "a missing module": ("require('nosuch')", SHOW, {}),
    "its state": (STATE, WITH_STATE, {}),
    "its function": ("exports.x = [String(arguments.callee), arguments.callee.name, arguments.callee.length, arguments.callee.caller === null, "
        "Object.getOwnPropertyNames(arguments.callee)]", SHOW, {}),
    "strict": ("'use strict'; exports.x = [this === exports, (function () { return this })()]; try { arguments.callee } catch (e) { exports.y = e.stack }",
        SHOW + "; console.log(require('m').y)", {}),
    "sloppy": ("exports.x = [(function () { return this })() === globalThis, delete exports.q, typeof gUndeclared]", SHOW, {}),
    "a first line for the shell": ("#!/usr/bin/env node\nexports.x = new Error('x').stack", SHOW, {}),
    "a byte order mark": ("\ufeffexports.x = new Error('x').stack", SHOW, {}),
    "text beyond ASCII": ("exports.x = 'ünï \u20ac \U0001f600' + new Error('é').stack", SHOW, {}),
    "a return": ("exports.x = 1; return; exports.x = 2", SHOW, {}),
    "an import": ("exports.x = 1; import('n').then((n) => console.log(n.default.x), (e) => console.log(e.code, e.message))", SHOW,
        {"packages": {"n/index.js": "exports.x = 'n'" + REFUSED}}),
    "an import in a function": ("exports.x = () => import /* of */ ('n')", "require('m').x().then((n) => console.log(n.default.x))",
        {"packages": {"n/index.js": "exports.x = 'n'" + REFUSED}}),
    "the order of an import": ("const t = (n) => console.log(n); import('fs').then(() => t('import')); let p = Promise.resolve(); "
        "for (let i = 0; i < 60; i++) p = p.then(() => i % 3 || t(i))", SHOW, {}),
    "an import in evaluated text": ("exports.x = (n) => eval('imp' + 'ort(n)')", "require('m').x('n').then((n) => console.log(n.default.x))",
        {"packages": {"n/index.js": "exports.x = 'n'" + REFUSED}}),
    "an import in evaluated text, of data": ("exports.x = () => eval('imp' + 'ort(\"n/a.json\", {assert: {type: \"json\"}})')",
        "require('m').x().then((n) => console.log(n.default), (e) => console.log(e.code ?? e.name, e.message))",
        {"packages": {"n/a.json": '{"a": 1}'}}),
    "an import in a new function": ("exports.x = new Function('n', 'return imp' + 'ort(n)')",
        "try { require('m').x('fs').then((n) => console.log(typeof n.readFile), (e) => console.log(e.code, e.message)) } catch (e) { console.log(e.message) }", {}),
    "an import in text that another function evaluates": ("const { constructor: make } = async function () {}; exports.x = (n) => make('return 1 + ' + n)()",
        "require('m').x(2).then(console.log)", {}),
    "an import in a new asynchronous function": ("const Make = Object.getPrototypeOf(async () => null).constructor; exports.x = (s) => new Make('require', s)(require)",
        "require('m').x('return (await import(\"fs\")).default.existsSync(\"/\")').then(console.log, (e) => console.log(e.code))", {}),
    "an import in a function of a function's kind": ("const Make = (async () => {}).constructor; exports.x = (s) => new Make(s)()",
        "require('m').x('return (await import(\"fs\")).default.existsSync(\"/\")').then(console.log, (e) => console.log(e.code))", {}),
    "a class of errors": ("exports.x = new Error('x').stack", "const E = Error; globalThis.Error = class Error extends E { constructor(...a) { super(...a); "
        "process._rawDebug('made') } }; " + SHOW, {}),
    "a function that cannot be replaced": ("exports.x = Object.getOwnPropertyDescriptor(require('fs'), 'readFileSync').writable", "Object.defineProperty(require('fs'), "
        "'readFileSync', {writable: false}); " + SHOW + "; console.log(Object.getOwnPropertyDescriptor(require('fs'), 'readFileSync').writable)", {}),
    "a function for the global object": ("exports.x = Function('return this')() === globalThis && [] instanceof Function", SHOW, {}),
    "a comment about an import": ("/** @type {import('n')} */ exports.x = 'import(1)' + `import(2)`", SHOW, {}),
    "a circle": ("exports.x = 0; exports.y = require('n').y; exports.x = 5", SHOW + "; console.log(require('n').y)",
        {"packages": {"n/index.js": "exports.y = require('m').x + 1" + REFUSED}}),
    "twice": ("const f = (s) => s; exports.x = () => f`a`; exports.f = arguments.callee", "const a = require('m'); delete require.cache[require.resolve('m')]; "
        "const b = require('m'); console.log(a.x() === a.x(), a.x() === b.x(), a.f === b.f)", {}),
    "an ECMAScript module that imports it": ("exports.x = new Error('x').stack.split('\\n').length", "import m from 'm'; console.log(m.x, m.count)",
        {"script": "main.mjs"}),
    "an import of it": ("exports.x = new Error('x').stack", "import('m').then((m) => console.log(m.default.x))", {}),
    "an import before": ("exports.x = new Error('x').stack", "import('m').then((m) => { delete require.cache[require.resolve('m')]; " + SHOW + " })", {}),
    "kept states of files": ("const fs = require('fs'), M = require('module'), f = __dirname + '/gone.js'; fs.writeFileSync(f, ''); require.resolve('./gone.js'); "
        "fs.unlinkSync(f); for (const k in M._pathCache) delete M._pathCache[k]; try { exports.x = require.resolve('./gone.js') } catch (e) { exports.x = e.code }",
        "console.log(require('module')._load(require.resolve('m')).x)", {}),
    "a module of nobody": ("exports.x = module.parent?.id", "console.log(require('module')._load(require.resolve('m')).x)", {}),
    "a module that becomes the program": ("exports.x = require.main === module", "require('module')._load(require.resolve('m'), null, true); "
        "console.log(require('m').x, process.mainModule.id)", {}),
    "a module that is run": ("if (require.main === module) console.log('main')", "process.argv[1] = require.resolve('m'); require('module').runMain()", {}),
    "a require of its own": ("exports.x = module.parent?.id + new Error('x').stack", "console.log(require('module').createRequire(__filename)('m').x)", {}),
    "a timer": ("exports.x = new Error('x').stack", "setTimeout(() => " + SHOW + ", 1)", {}),
    "another compiler": ("exports.x = new Error('x').stack", "const m = require('module').prototype, f = m._compile; m._compile = function (t, n) { "
        "console.log('compiles', t.length); return f.call(this, t, n) }; " + SHOW, {}),
    "another compiler of the module": ("exports.x = new Error('x').stack", "const e = require('module')._extensions, f = e['.js']; e['.js'] = (m, n) => { "
        "const c = m._compile; console.log(c === require('module').prototype._compile); m._compile = function (t, n) { console.log(t.length); m._compile = c; m._compile(t, n) }; "
        "f(m, n) }; " + SHOW, {}),
    "another extension": ("exports.x = 1", "const e = require('module')._extensions; e['.js'] = (m, n) => { m.exports = {x: require('fs').readFileSync(n, 'utf8').length, "
        "keys: Object.getOwnPropertyNames(m)} }; console.log(require('m'))", {}),
    "an extension of its own": ("exports.x = 1", "require('module')._extensions['.x.js'] = (m, n) => { m.exports = {x: Object.getOwnPropertyNames(m)} }; console.log("
        "require('m/a.x.js').x, require('m').x)", {"packages": {"m/a.x.js": "exports.x = 2" + REFUSED}}),
    "another way to read": ("exports.x = 1", "const fs = require('fs'), f = fs.readFileSync; fs.readFileSync = (n, e) => { console.log(n.split('/').at(-2), e); "
        "return 'exports.x = 2' }; " + SHOW, {}),
    "another way to open": ("exports.x = 1", "const fs = require('fs'), f = fs.openSync; fs.openSync = (n, ...a) => { process._rawDebug(n.split('/').at(-2)); "
        "return f(n, ...a) }; " + SHOW, {}),
    "another way to close": ("exports.x = 1", "const fs = require('fs'), f = fs.closeSync; fs.closeSync = (n) => { process._rawDebug(new Error('x').stack); "
        "return f(n) }; " + SHOW, {}),
    "another way to decode": ("exports.x = 1", "const f = Buffer.prototype.toString; Buffer.prototype.toString = function (...a) { process._rawDebug('decodes'); "
        "return f.apply(this, a) }; " + SHOW, {}),
    "another way to load": ("exports.x = Object.getOwnPropertyNames(module)", "const m = require('module').prototype, f = m.load; m.load = function (n) { "
        "console.log(Object.getOwnPropertyNames(this)); return f.call(this, n) }; " + SHOW, {}),
    "another loader": ("exports.x = new Error('x').stack", "const m = require('module'), f = m._load; m._load = function (n, ...a) { console.log('loads', n); "
        "return f.call(this, n, ...a) }; " + SHOW, {}),
    "folders of modules": ("exports.x = module.paths.length", "const m = require('module'), f = m._nodeModulePaths; m._nodeModulePaths = (d) => { console.log("
        "typeof Object.getOwnPropertyDescriptor(require('fs'), 'readFileSync').get); return f(d) }; " + SHOW, {}),
    "a wrapper": ("exports.x = new Error('x').stack", "require('module').wrapper[0] += 'console.log(1);'; " + SHOW, {}),
    "another wrapper": ("exports.x = new Error('x').stack", "const m = require('module'), w = m.wrap; m.wrap = (t) => w('console.log(1);' + t); " + SHOW, {}),
    "the same wrapper": ("exports.x = (() => new Error('x').stack)();", "const m = require('module'); m.wrap = m.wrap; " + SHOW, {}),
    "the same wrapper, for once": ("exports.x = (() => new Error('x').stack)();", "const m = require('module'), w = m.wrapper[0]; m.wrapper[0] = ''; m.wrapper[0] = w; " + SHOW, {}),
    "functions of arrays": ("exports.x = 1", "for (const [o, keys] of [[Array.prototype, ['map', 'filter', 'some', 'includes', 'join']], [Map.prototype, ['get']], "
        "[String.prototype, ['startsWith']]]) for (const k of keys) { const f = o[k]; o[k] = function (...a) { const l = new Error().stack.split('\\n')[2]; "
        "if (!l?.includes('node:')) process._rawDebug(k, l); return f.apply(this, a) } } require('m')", {}),
    "a way to show stacks": ("exports.x = 1", "Object.defineProperty(Error, 'prepareStackTrace', {configurable: true, get() { process._rawDebug('get') }, "
        "set(v) { process._rawDebug('set') }}); " + SHOW, {}),
    "a limit of stacks": ("exports.x = 1", "Object.defineProperty(Error, 'stackTraceLimit', {configurable: true, get() { return 10 }, "
        "set(v) { process._rawDebug('set') }}); " + SHOW, {}),
    "a frozen error": ("exports.x = 1", "Object.freeze(Error); " + SHOW, {}),
    "a parent": ("exports.x = 1", "const p = require('module').prototype, d = Object.getOwnPropertyDescriptor(p, 'parent'); Object.defineProperty(p, 'parent', "
        "{...d, get() { process._rawDebug('parent'); return d.get.call(this) }}); " + SHOW, {}),
    "another kind of class": ("exports.x = 1", "Object.defineProperty(require('module'), Symbol.hasInstance, {value: () => { process._rawDebug('instance') }}); " + SHOW, {}),
    "a stack of the main module": ("exports.x = 1", "const m = process.mainModule; Object.defineProperty(process, 'mainModule', "
        "{get: () => { process._rawDebug(new Error().stack); return m }}); " + SHOW, {}),
    "a text of functions": ("exports.x = new Error('x').stack", "const f = Function.prototype.toString; Function.prototype.toString = function () { "
        "process._rawDebug('text'); return f.call(this) }; " + SHOW, {}),
    "a module that the program makes": ("exports.x = 1", "const M = require('module'), f = require.resolve('m'), m = new M(f, module); require.cache[f] = m; "
        "console.log(Object.getOwnPropertyNames(m), typeof Object.getOwnPropertyDescriptor(require('fs'), 'readFileSync').get); "
        "m._compile('exports.x = 2', f); " + SHOW + "; console.log(require('fs').readFileSync(f, 'utf8').length)", {}),
    "another text": ("exports.x = 1", "const M = require('module'), f = require.resolve('m'), m = new M(f, module); m._compile('exports.x = new Error(\"x\").stack', f); "
        "console.log(m.exports.x)", {}),
    "another working directory": ("exports.x = [__filename, __dirname, process.cwd()]", "process.chdir('/'); " + SHOW, {}),
    "another function for paths": ("exports.x = __dirname", "const p = require('path'), f = p.dirname; p.dirname = (n) => { process._rawDebug('dirname'); "
        "return f(n) }; " + SHOW, {}),
    "the main module": ("exports.x = process.mainModule === require.main", "let count = 0; const m = process.mainModule; Object.defineProperty(process, 'mainModule', "
        "{get: () => { count++; return m }}); " + SHOW + "; console.log(count)", {}),
    "source maps that are switched on": ("exports.x = () => { throw new Error('x') }\n//# sourceMappingURL=data:application/json;base64," + MAP + "\n",
        "process.setSourceMapsEnabled(true); try { require('m').x() } catch (e) { console.log(e.stack) }", {}),
    "source maps": ("exports.x = () => { throw new Error('x') }\n//# sourceMappingURL=data:application/json;base64," + MAP + "\n",
        "console.log(require('module').findSourceMap(require.resolve('m')))", {"options": ["--enable-source-maps"]}),
    "counted calls": ("exports.x = () => 1; exports.x()", "const s = new (require('inspector').Session)(); s.connect(); s.post('Profiler.enable');"
        "s.post('Profiler.startPreciseCoverage', {callCount: true}); require('m'); s.post('Profiler.takePreciseCoverage', (_, r) => "
        "console.log(r.result.filter((one) => one.url.includes('/m/')).map((one) => one.functions[0].ranges[0].count)))", {}),
    "scripts of a debugger": ("exports.x = 1", "const s = new (require('inspector').Session)(), all = []; s.connect(); s.on('Debugger.scriptParsed', (e) => "
        "all.push(e.params.url)); s.post('Debugger.enable'); all.length = 0; require('m'); console.log(all.filter((one) => one.includes('/m/')))", {}),
    "hooks of asynchronous work": ("exports.x = 1", "const fs = require('fs'); require('path'); require('async_hooks').createHook({init(_, t) { "
        "fs.writeSync(1, t + '\\n') }}).enable(); require('m')", {}),
    "a package of ECMAScript modules": ("exports.x = 1", "try { require('m'); console.log('loaded') } catch (e) { console.log(e.code) } "
        "console.log(typeof Object.getOwnPropertyDescriptor(require('fs'), 'readFileSync').get)", {"packages": {"m/package.json": '{"type": "module"}'}}),
    "data": ("exports.x = require('./d.json').a", SHOW, {"packages": {"m/d.json": '{"a": 1}'}}),
    "another ending": ("exports.x = require('./o.cjs').x + require('./p').x", SHOW, {"packages": {"m/o.cjs": "exports.x = new Error('x').stack" + REFUSED,
        "m/p": "exports.x = new Error('x').stack" + REFUSED}}),
    "an end": ("process.exit(5)", SHOW, {}),
    "a worker": ("exports.x = new Error('x').stack", "const w = require('worker_threads'); if (w.isMainThread) new w.Worker(__filename).on('exit', () => "
        + SHOW + "); else " + SHOW, {}),
    "a child": ("exports.x = 1", "const c = require('child_process'); if (process.send) process.send(require('m').x) "
        "else c.fork(__filename).on('message', (m) => console.log(m, require('m').x))", {}),
    "a flag of V8": ("exports.x = typeof gc; exports.y = function y() { return 1 }", "require('v8').setFlagsFromString('--expose-gc'); " + SHOW, {}),
    "a deep recursion": ("let n = 0; const f = () => { n++; f() }; try { f() } catch (e) { exports.x = [e.name, e.message, n > 5000] }", SHOW, {}),
    "a changed world": ("exports.x = [].join()", "Array.prototype.join = () => 'patched'; Object.prototype.get = 1; " + SHOW, {}),
}


def compiled(node):
    for i, (name, (text, program, more)) in enumerate(COMPILED.items()):
        if not is_wanted(name):
            continue
        folder = f"compiled{i}"
        packages = {"m/index.js": text + REFUSED, **more.get("packages", {})}
        for path, other in packages.items():
            node.write(f"{folder}/node_modules/{path}", other + "\n")
        for path, other in more.get("files", {}).items():
            node.write(f"{folder}/{path}", other + "\n")
        script = node.write(f"{folder}/" + more.get("script", "main.js"), program + "\n")
        imports = lines(*(f"{node.folder}/{folder}/node_modules/{path}" for path in packages))
        subprocess.run([node.interpreter, "-e", ""], env=node.base, check=True)  # so that the files are older than a pause
        node.same_on_both(f"compiled: {name}", [script, "x"], options=more.get("options", []), environment=node.base, imports=imports,
                          hides=cases_node.HIDES)


def lines(*paths):
    return [f"~{path}\t-" for path in paths]


def changes(node):
    """A file that has changed is compiled anew, and a file that was compiled is not read."""
    file = node.write("changes/node_modules/m/index.js", "exports.x = 'compiled'" + REFUSED)
    script = node.write("changes/main.js", SHOW + "\n")
    subprocess.run([node.interpreter, "-e", ""], env=node.base, check=True)
    imports = lines(file)
    opened = opens(node, script, file, imports)
    results.report(f"{node.name}: compiled: the file is not read", not opened, str(opened))
    node.same("compiled: a file that changes", [script], environment=node.base, imports=imports,
              change=lambda _: node.write("changes/node_modules/m/index.js", "exports.x = 'changed'" + REFUSED))
    node.same("compiled: a file that is replaced by another", [script], environment=node.base, imports=imports,
              change=lambda _: os.replace(node.write("changes/new", "exports.x = 'replaced'" + REFUSED), file))
    node.same("compiled: a file that is gone", [script], environment=node.base, imports=imports, change=lambda _: os.remove(file))
    node.write("changes/node_modules/m/index.js", "exports.x = 1 +")
    node.same("compiled: a file with an error", [script], environment=node.base, imports=lines(file))
    # The prewarm would wait for somebody who writes.
    for path, listed in (("pipe/index.js", "pipe/index.js"), ("described/package.json", "described/index.js")):
        node.write(f"changes/node_modules/{listed}", "exports.x = 1" + REFUSED)
        path, listed = (f"{node.folder}/changes/node_modules/{one}" for one in (path, listed))
        if os.path.exists(path):
            os.remove(path)
        os.mkfifo(path)
        try:
            node.pause(imports=lines(listed), environment=node.base).end()
            is_paused = True
        except (instance.Refused, TimeoutError):
            is_paused = False
        results.report(f"{node.name}: compiled: {os.path.basename(path)} that is a pipe is not read", is_paused, "it did not pause")
    file = node.write("changes/node_modules/kind/index.js", "exports.x = 'compiled'" + REFUSED)
    script = node.write("changes/kind.js", SHOW.replace("'m'", "'kind'") + "\n")
    subprocess.run([node.interpreter, "-e", ""], env=node.base, check=True)
    node.same("compiled: a package that changes its kind", [script], environment=node.base, imports=lines(file), anew=CHANGED,
              change=lambda _: node.write("changes/node_modules/kind/package.json", '{"type": "module"}'))
    file = node.write("changes/node_modules/m/index.js", "exports.x = 'compiled'" + REFUSED)
    subprocess.run([node.interpreter, "-e", ""], env=node.base, check=True)
    script = node.write("changes/writes.js", f"require('fs').writeFileSync('{file}', 'exports.x = 2'); {SHOW}\n")
    paused = node.pause(imports=lines(file), environment=node.base)
    try:
        outcome = instance.run_prewarmed(paused, [node.interpreter, script], node.base, node.folder)
    finally:
        paused.end()
    results.report(f"{node.name}: compiled: a file that the program writes", (outcome.output, paused.anew) == (b"2\n", 0),
                   f"{outcome.output} {outcome.errors} {paused.anew}")


def loaded_anew(node, packages):
    """Modules that were loaded before the pause, and that the program loads anew, because it has changed what they could find."""
    packages.write("tree/index.js", "exports.x = [require('./leaf').x, new Error('x').stack, Array.prototype.gOwn]\n")
    packages.write("tree/leaf.js", "exports.x = new Error('x').stack\n")
    imports = packages.list("tree/index.js", "tree/leaf.js")
    results.report(f"{node.name}: compiled: a list", len(imports) == 2, str(imports))
    subprocess.run([node.interpreter, "-e", ""], env=node.base, check=True)
    script = node.write("app/anew.js", "Array.prototype.gOwn = 1; console.log(require('tree').x, Object.keys(require.cache).length)\n")
    node.same_on_both("compiled: what is loaded anew", [script], environment=node.base, imports=imports)
    opened = opens(node, script, packages.path("tree/leaf.js"), imports)
    results.report(f"{node.name}: compiled: what is loaded anew: the file is not read", not opened, str(opened))


def run():
    major = None
    for path, major in cases_node.interpreters():
        base = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        node = cases_node.language("node" + major, path, base)
        compiled(node)
        changes(node)
        loaded_anew(node, Packages(node, "app"))
        node.end()
    if major is None:
        results.skip("node", "there is no node")
