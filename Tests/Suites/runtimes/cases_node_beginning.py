"""Node: modules that only a program's first requires may load before the pause, because they load `http` and the like."""
import os
import shutil
import subprocess

import cases_node
import instance
import results
from cases_node_learning import Packages, inspection, listed, opens
from comparing import is_wanted
from instance import HIDDEN

PACKAGES = {
    "web/index.js": "const http = require('http'), net = require('net')\nexports.x = 'web' + require('leaf').x\n"
                    "exports.isPlain = () => http.Agent.prototype.createConnection === net.createConnection\n"
                    "exports.Server = class extends http.Server {}\nexports.parent = () => module.parent?.id\n"
                    "exports.isMain = require.main === module\nexports.stack = () => new Error('x').stack\n"
                    "exports.serve = (done) => { const s = http.createServer((q, r) => r.end('served')).listen(0, () => "
                    "http.get({port: s.address().port, agent: false}, (r) => r.on('data', (d) => { s.close(); done(String(d)) }))) }\n",
    "leaf/index.js": "exports.x = 'leaf'\n",
    "plain/index.js": "exports.x = 'plain' + require('path').sep + require('leaf').x\n",
    "later/index.js": "exports.x = 'later' + require('path').basename('/a/b')\n",
    "packs/index.js": "const zlib = require('zlib')\nexports.name = 'packs'; exports.x = () => zlib.gunzipSync(zlib.gzipSync('packed')).toString()\n",
    "secret/index.js": "exports.x = require('crypto').createHash('sha256').update('x').digest('hex').slice(0, 9)\n"
                       "exports.streams = typeof require('fs').ReadStream + typeof require('https').Agent + typeof require('child_process').fork\n",
    "patches/index.js": "require('http').request = () => 'patched'\n",
    "patches_class/index.js": "require('net').Socket.prototype.gOwn = 1\n",
    "sets_agent/index.js": "const http = require('http'); http.globalAgent = new http.Agent()\n",
    "wraps_agent/index.js": "const { globalAgent } = require('http'), create = globalAgent.createConnection\n"
                            "globalAgent.createConnection = function (...words) { console.log('connecting'); return create.apply(this, words) }\n",
    "wraps_subtle/index.js": "require('crypto').subtle.gOwn = 1\n",
    "replaces/index.js": "const net = require('net'), plain = net.createConnection; let count = 0\n"
                         "net.createConnection = function (...words) { count++; return plain.apply(this, words) }\n"
                         "require('http'); net.createConnection = plain; exports.count = () => count\n",
    "no_main/index.js": "exports.x = 'no main'; require('http')\n",
    "resolver/index.js": "exports.x = require('dns').lookup\n",
    "lazy/index.js": "Object.defineProperty(exports, 'x', {enumerable: true, get: () => { globalThis.gLazy = (globalThis.gLazy ?? 0) + 1; return 'lazy' }})\n"
                     "exports.y = 'y'; require('zlib')\n",
    "proxied/index.js": "module.exports = new Proxy({y: 1}, {get: (_, key) => String(key)}); require('zlib')\n",
    "terminal/index.js": "exports.x = require('tty').isatty(1); require('https')\n",
    "flag/index.js": "exports.x = process.argv.includes('--flag'); if (exports.x) require('net').createConnection = () => 1; require('http')\n",
    "fails/index.js": "require('zlib'); throw new Error('it fails')\n",
    "listens/index.js": "require('http').createServer().listen(0).unref()\n",
    "keeps_time/index.js": "require('zlib'); exports.x = Date.now() > 1\n",
    "reads/index.js": "exports.x = require('fs').readFileSync(__dirname + '/mark.txt', 'utf8'); require('zlib')\n",
    "runs_program/index.js": "exports.x = require('../../main_again.js'); require('zlib')\n",
    "circle/index.js": "exports.x = 'circle'; exports.inner = require('./inner.js').y; require('zlib')\n",
    "circle/inner.js": "const circle = require('circle')\nexports.y = 'inner' + circle.x; exports.isMain = require.main === module; exports.show = () => 1\n",
    "wraps/index.js": "exports.web = require('web'); exports.x = exports.web.x + require('packs').name\n",
}
# Programs print this besides.
TELL = """
console.log(Object.keys(require.cache).map((f) => require('path').relative(__dirname, f)), module.children.map((m) => m.id.split('/').at(-2)))
for (const m of Object.values(require.cache)) console.log(m.id.split('/').slice(-2).join('/'), m.parent?.id.split('/').at(-1), m.children.map((c) => c.id.split('/').at(-2)), m.loaded, m.paths.length)
console.log(Object.keys(require('module')._pathCache).map((k) => k.split('/').slice(-3).join('/')), process._getActiveHandles().length, process._getActiveRequests().length)
console.log(new (require('async_hooks').AsyncResource)('x').asyncId(), Error.stackTraceLimit, performance.getEntries().length, process.getActiveResourcesInfo?.())
console.log(Object.getOwnPropertyNames(globalThis).length, process.eventNames(), Object.keys(process).length, require.cache[__filename] === module)
"""
FIRST = "const web = require('web')\nconst plain = require('plain')\n"
SHOW = "console.log(require('web').x, require('web').isPlain(), require('web').isMain, require('web').parent())\n"
# A program that makes a difference if `http` has been loaded first.
PATCH = "require('net').createConnection = function mine() {}\n"

# Programs that begin with `web`, and go on in other ways.
SAME = {
    "plain": FIRST + SHOW,
    "first line, comments": "#!/usr/bin/env -S node --no-warnings\n// one\n/* two\n */ 'use strict' // three\n\n" + FIRST + SHOW,
    "one line": "'use strict'; var web = require('web'), plain = require(\"plain\"); let x; " + SHOW,
    "no names": "require('web'); require('plain'); " + SHOW,
    "carriage returns": FIRST.replace("\n", "\r\n") + SHOW,
    "a byte order mark": "\ufeff" + FIRST + SHOW,
    "separators of lines": "require('web')\u2028require('plain')\u2029" + SHOW,
    "only the first": "const web = require('web')\n" + SHOW,
    "a call of a member": "const plain = require('web').isPlain()\nconsole.log(plain)\n",
    "a member": "console.log(1)\nfunction f() {}\n",
    "patches later": FIRST + PATCH + SHOW + "console.log(require('packs').x())\n",
    "patches, then asks for another": FIRST + "require('path').basename = () => 'mine'\nconsole.log(require('later').x, require('packs').name)\n",
    "another later": FIRST + "console.log(require('later').x, require('packs').x(), require('secret').x)\n",
    "a wrong line": FIRST + SHOW + "let x = = 3\n",
    "an exception": FIRST + SHOW + "null.x\n",
    "import()": FIRST + "import('web').then((m) => console.log(m.default === web, m.default.x)); import('http').then((m) => console.log(m.get === require('http').get))\n",
    "import() after a patch": FIRST + "require('http').get = 1; import('http').then((m) => console.log(typeof m.get))\n",
    "a variable": "const web = require('web')\nconst http = 1, require2 = require\nconsole.log(require2 === require, http)\n" + SHOW,
    "the module's own names": "var module2 = require('web'), exports2 = 1\n" + SHOW,
    "other names for Node's": "var exports = require('web')\nvar module = require('plain')\nconsole.log(exports.x, module.x, require('web').parent())\n",
    "deletes it": FIRST + "delete require.cache[require.resolve('web')]; console.log(require('web') === web, require('web').isPlain())\n",
    "serves": FIRST + "web.serve((text) => console.log(text))\n",
    "its stack": FIRST + "console.log(web.stack(), new Error('y').stack)\n",
    "a worker": FIRST + "const w = require('worker_threads'); if (w.isMainThread) new w.Worker(__filename).on('exit', (c) => console.log('w', c)); else console.log(web.x)\n",
    "a child": FIRST + "if (process.send) process.send(web.x); else require('child_process').fork(__filename).on('message', (m) => console.log(m))\n",
    "streams": FIRST + "process.stdin.on('data', (d) => console.log(String(d), process.stdin.constructor.name))\n",
    "the builtin modules": FIRST + "console.log(['http', 'net'].every((name) => process.moduleLoadList.includes('NativeModule ' + name)))\n",
    "a function with such a name inside": FIRST + "const o = { require() { return 1 } }; console.log(o.require())\n" + SHOW,
    "the words later": FIRST + "// import and export, await\nconst text = 'import x from y'\n" + SHOW,
    "names that it adds": FIRST + "globalThis.gOwn = 1\n" + SHOW,
    "a long program": FIRST + SHOW + "// x\n" * 50_000,
    "an end": FIRST,
}
SAME["a member"] = "const x = require('web').x\n" + SAME["a member"] + "console.log(x)\n"
# Programs that begin otherwise. Those with PATCH would show it if `http` were loaded already.
OTHER = {
    "nothing": "",
    "an object of it": "const server = new (require('web').Server)()\nconsole.log(typeof server.listen)\n",
    "taken apart": "const { x, isPlain: y, } = require('web')\nconsole.log(x, y())\n",
    "a patch before": PATCH + FIRST + SHOW,
    "a patch before, with a name": "const n = require('net'); n.createConnection = () => 1; const web = require('web')\n" + SHOW,
    "code before": "globalThis.x = 1\n" + FIRST + SHOW,
    "another first": "const p = require('later')\n" + FIRST + SHOW,
    "a builtin first": "const p = require('node:path')\n" + FIRST + SHOW,
    "a file of its own first": "require('./patch.js')\n" + FIRST + SHOW,
    "in a comment": "// const web = require('web')\n/*\nconst web = require('web')\n*/\n" + PATCH + SHOW,
    "in a string": "'const web = require(\"web\")'\n" + PATCH + SHOW,
    "in a template": "`\n${" + PATCH.strip() + "}`\nconst web = require('web')\n" + SHOW,
    "in a regular expression": "/require('web')/.test(" + PATCH.strip() + ")\nconst web = require('web')\n" + SHOW,
    "in a condition": "if (" + PATCH.strip() + ") require('web')\n" + SHOW,
    "in a function": "function f() { require('web') }\n" + PATCH + SHOW,
    "a string that goes on": "'use strict'\n.at(" + PATCH.strip().replace("function mine() {}", "1") + ")\nrequire('web')\n" + SHOW,
    "a function in its place": "require('web')\n" + SHOW + "function require(name) { " + PATCH.strip().replace("require(", "module.require(") + "; return module.require(name) }\n",
    "a function in its place, with a comment": "require('web')\n" + SHOW + "function /* x */ require(name) { return {x: 'mine', isPlain() {}, parent() {}} }\n",
    "a function in its place, with an escape": "require('web')\n" + SHOW + "function r\\u0065quire(name) { return {x: 'mine', isPlain() {}, parent() {}} }\n",
    "a function in its place, with an HTML comment": "require('web')\n" + SHOW + "function <!-- x\nrequire(name) { return {x: 'mine', isPlain() {}, parent() {}} }\n",
    "a function in its place, with an end of one": "require('web')\n" + SHOW + "function\n--> x\nrequire(name) { return {x: 'mine', isPlain() {}, parent() {}} }\n",
    "a function that makes more in its place": "require('web')\n" + SHOW + "async function* require() {}\n",
    "a variable in its place": "var require = ((r) => (n) => { if (n === 'web') r('net').createConnection = () => 1; return r(n) })(require)\n" + FIRST + SHOW,
    "a default": "const { nosuch = " + PATCH.strip() + " } = {}, web = require('web')\n" + SHOW,
    "a computed name": "const { [" + PATCH.strip().replace("function mine() {}", "'x'") + "]: x } = require('web')\n" + SHOW,
    "an argument": "require(" + PATCH.strip().replace("function mine() {}", "'web'") + ")\n" + SHOW,
    "a second argument": "require('web', " + PATCH.strip() + ")\n" + SHOW,
    "a comma": "0, require('web')\n" + SHOW,
    "an HTML comment": "<!-- require('web')\n" + PATCH + SHOW,
    "a missing module": "require('nosuch')\n" + FIRST + SHOW,
    "a wrong first line": "const web = = require('web')\n" + SHOW,
    "an import": "const web = require('web')\nimport './patch.mjs'\n" + SHOW,
    "an export": "const web = require('web')\nexport const x = 1\n" + SHOW,
    "await": "const web = require('web')\nawait 1\n" + SHOW,
    "an early use": "console.log(typeof web)\nconst web = require('web')\n",
    "a use before it is there": "try { web } catch (e) { console.log(e.message) }\nconst web = require('web')\n",
    "a label": "a: require('web')\n" + SHOW,
    "a null character": "\0" + FIRST + SHOW,
}
# What continues a first require, so the next one does not count as a first one.
CONTINUED = {
    "a call": "\n(" + PATCH.strip() + ", () => {})", "a member": "\n.x[" + PATCH.strip().replace("function mine() {}", "'at'") + "]",
    "an index": "\n[" + PATCH.strip() + ", 'x']", "a template": ".stack\n`${" + PATCH.strip() + "}`", "a sum": "\n+ (" + PATCH.strip() + ")",
    "a difference": "\n- (" + PATCH.strip() + ")", "a quotient": "\n/ (" + PATCH.strip() + ") / 2", "a comparison": "\nin [" + PATCH.strip() + "]",
    "a choice": "\n? (" + PATCH.strip() + ") : 1", "a comma": "\n, (" + PATCH.strip() + ")", "a comment that ends": " /*\n*/ && (" + PATCH.strip() + ")",
    "an optional member": "\n?.x[" + PATCH.strip() + "]", "an alternative": " || 1\n" + PATCH.strip(),
}
# Programs, the words that the inspection accepts, and where there is another reason to end than the text.
CUT = {
    "what none needs": ("require('plain'); require('later')", []),
    "the last that is needed": ("require('plain'); require('packs'); require('later')", ["plain", "packs"]),
    "a builtin one": ("const fs = require('fs'), http = require('node:http'); require('plain')", ["fs", "node:http"]),
    "two that share one": ("require('leaf'); require('web'); require('wraps')", ["leaf", "web", "wraps"]),
    "one again": ("require('web'); require('web'); require('packs')", ["web", "web", "packs"]),
    "one that patches": ("require('packs'); require('patches'); require('web')", ["packs"]),
    "one that patches a class": ("require('patches_class'); require('web')", []),
    "one that sets an agent": ("require('sets_agent'); require('web')", []),
    "one that changes the agent": ("require('packs'); require('wraps_agent'); require('web')\n"
                                   "const http = require('http'), s = http.createServer((q, r) => r.end()).listen(0, () => "
                                   "http.get({port: s.address().port, agent: http.globalAgent}, (r) => { r.resume(); s.close(); http.globalAgent.destroy() }))", ["packs"]),
    "one that changes what crypto makes": ("require('wraps_subtle'); require('web')\nconsole.log(require('crypto').subtle.gOwn)", []),
    "one that replaces for a moment": ("const r = require('replaces'); require('web')\n"
                                       "const http = require('http'), s = http.createServer((q, r) => r.end()).listen(0, () => "
                                       "http.get({port: s.address().port, agent: false}, (a) => { a.resume(); s.close(); console.log(r.count()) }))", []),
    "one that Node warns of": ("require('packs'); console.log(require('no_main').x); require('web')", ["packs"]),
    "one that needs dns": ("require('packs'); require('resolver'); require('web')", ["packs"]),
    "dns": ("require('dns'); require('web')", []),
    "the process": ("require('process'); require('web')", []),
    "assert": ("require('assert'); require('web')", []),
    "one that fails": ("require('packs'); try { require('fails') } catch {}", ["packs"]),
    "one that listens": ("require('packs'); require('listens')", ["packs"]),
    "one that keeps the time": ("require('packs'); require('keeps_time')", ["packs"]),
    "one that is missing": ("require('packs'); try { require('nosuch') } catch {}", ["packs"]),
    "one that fails first": ("require('fails'); require('web')", []),
    "values": ("const { x, isPlain } = require('web'); require('packs')", ["web{x,isPlain}", "packs"]),
    "a value that code makes": ("const { y, x } = require('lazy'); require('packs')\nconsole.log(x, y, gLazy)", ["lazy{y,x}"]),
    "values of a proxy": ("const { y } = require('proxied'); require('packs')\nconsole.log(y)", ["proxied{y}"]),
    "a missing value": ("const { nosuch } = require('web'); require('packs')\nconsole.log(nosuch)", ["web{nosuch}"]),
    "a value that is inherited": ("const { toString } = require('web'); require('packs')", ["web{toString}"]),
    "a value that Node makes": ("const { promises } = require('fs'); require('web')", []),
    "a value of a builtin one": ("const { createServer } = require('http'); const { join } = require('path'), web = require('web')", ["http{createServer}", "path{join}", "web"]),
    "one that runs the program": ("require('runs_program'); require('web')", []),
    "a file of its own": ("require('packs'); require('./own_web'); require('web')", ["packs"]),
    "more builtin ones": ("require('secret'); require('tls'); require('dgram'); require('punycode')", ["secret", "tls", "dgram", "punycode"]),
    "worker_threads": ("require('packs'); require('worker_threads'); require('web')", ["packs"]),
}


def words_of(imports):
    return [line[len("?begins:"):].split("\t")[0].split("=")[0] for line in imports if line.startswith("?begins:")]


def learn(node, packages, script, names=None, **more):
    """Returns the list of a manifest's script that has loaded the files of these packages."""
    files = [packages.path(name if "/" in name else name + "/index.js") for name in names or sorted(PACKAGES)]
    return listed(inspection(node, files, script, **more), files)


def settle(node):
    """Makes the files older than a pause."""
    subprocess.run([node.interpreter, "-e", ""], env=node.base, check=True)


def prepare(node, packages):
    for name, text in PACKAGES.items():
        packages.write(name, text)
    packages.write("reads/mark.txt", "mark\n")
    packages.write("no_main/package.json", '{"name": "no_main", "main": "nosuch.js"}')
    node.write("app/patch.js", PATCH)
    node.write("app/patch.mjs", "import net from 'net'; net.createConnection = () => 1; import m from 'module'; globalThis.require = m.createRequire(import.meta.url)\n")
    node.write("app/own_web.js", "module.exports = require('web')\n")
    node.write("app/main_again.js", "require('runs_program'); require('web')\n")
    return packages


def cuts(node, packages):
    """Where the first requires of a list end."""
    for name, (text, expected) in CUT.items():
        if not is_wanted(name):
            continue
        script = node.write("app/main_again.js" if "runs" in name else f"app/cut_{name.replace(' ', '_')}.js", text + "\n" + TELL)
        imports = learn(node, packages, script)
        results.report(f"{node.name}: beginning: {name}: its words", words_of(imports) == expected, str(words_of(imports)))
        settle(node)
        node.same(f"beginning: {name}", [script, "x"], environment=node.base, imports=imports, hides=cases_node.HIDES)


def programs(node, packages):
    script = node.write("app/main.js", "const web = require('web')\n" + SHOW)
    imports = learn(node, packages, script)
    results.report(f"{node.name}: beginning: the list", words_of(imports) == ["web"] and {packages.path("web/index.js"), packages.path("leaf/index.js"),
                   packages.path("later/index.js")} <= {line.split("\t")[0] for line in imports}, str(imports))
    settle(node)
    more = {"environment": node.base, "imports": imports, "hides": cases_node.HIDES}

    def write(name, text):
        return node.write(f"app/{name.replace(' ', '_').replace(',', '').replace('(', '').replace(')', '')}.js", text)

    for name, text in SAME.items():
        node.same(f"beginning: {name}", [write("same " + name, text + (TELL if name not in ("an end", "a worker") else "")), "x"], **more)
    for name, text in OTHER.items():
        node.same(f"other beginning: {name}", [write("other " + name, text + TELL), "x"], anew=HIDDEN, **more)
    node.same_on_terminal("beginning: plain", [node.folder + "/app/same_plain.js"], [], **more)
    node.same_on_terminal("other beginning: code before", [node.folder + "/app/other_code_before.js"], [], anew=HIDDEN, **more)
    # Two words, of which the first is continued.
    two = learn(node, packages, write("two", FIRST.replace("plain", "packs") + SHOW))
    results.report(f"{node.name}: beginning: a list of two", words_of(two) == ["web", "packs"], str(two))
    settle(node)
    more["imports"] = two
    for name, text in CONTINUED.items():
        script = write("goes on " + name, "let a = require('web')" + text + "\nrequire('packs')\n" + SHOW + TELL)
        node.same(f"other beginning: goes on with {name}", [script], anew=HIDDEN, **more)
        node.same(f"beginning: goes on with {name}", [script], **dict(more, imports=imports))


def places(node, packages):
    """Programs that would find other modules, or that Node runs in another way."""
    text = "const web = require('web')\n" + SHOW + TELL
    script = node.write("app/main.js", text)
    imports = learn(node, packages, script)
    settle(node)
    more = {"environment": node.base, "imports": imports, "hides": cases_node.HIDES}
    node.write("app/near/node_modules/web/index.js", PATCH + PACKAGES["web/index.js"].replace("require('leaf').x", "'near'"))
    node.same("other beginning: a nearer package", [node.write("app/near/main.js", text)], anew=HIDDEN, **more)
    node.same("other beginning: no package", [node.write("elsewhere/main.js", text)], anew=HIDDEN, **more)
    node.same("beginning: a program in a folder below", [node.write("app/below/main.js", text)], **more)
    node.same("other beginning: NODE_PATH", [script], anew=HIDDEN, prewarm=node.base, **dict(more, environment=dict(node.base, NODE_PATH=node.folder + "/app/near/node_modules")))
    node.same("other beginning: a zone", [script], anew=HIDDEN, prewarm=node.base, **dict(more, environment=dict(node.base, TZ="Asia/Tokyo")))
    os.symlink(script, node.folder + "/link.js")
    node.same("beginning: a link to the program", [node.folder + "/link.js"], **more)
    os.symlink(node.folder + "/elsewhere/main.js", node.folder + "/app/link_away.js")
    node.same("other beginning: a link to a program elsewhere", [node.folder + "/app/link_away.js"], anew=HIDDEN, **more)
    node.write("app/folder/index.js", text)
    node.same("beginning: a folder", [node.folder + "/app/folder"], **more)
    node.same("beginning: without its ending", [node.folder + "/app/main"], **more)
    node.same("beginning: a name without an ending", [node.write("app/program", text)], **more)
    node.same("beginning: .cjs", [node.write("app/main.cjs", text)], **more)
    node.same("other beginning: .mjs", [node.write("app/main.mjs", text)], anew=HIDDEN, **more)
    node.write("app/typed/package.json", '{"type": "module"}')
    node.same("other beginning: a package of modules", [node.write("app/typed/main.js", text)], anew=HIDDEN, **more)
    node.same("beginning: .cjs in a package of modules", [node.write("app/typed/main.cjs", text)], **more)
    node.write("app/wrong/package.json", '{"type": ')
    node.same("other beginning: a wrong description", [node.write("app/wrong/main.js", text)], anew=HIDDEN, **more)
    node.same("other beginning: another ending", [node.write("app/main.txt", text)], anew=HIDDEN, **more)
    node.same("other beginning: a missing program", [node.folder + "/app/nosuch.js"], anew=HIDDEN, **more)
    node.same("other beginning: standard input", ["/dev/stdin"], given=text.encode(), anew=HIDDEN,
              **dict(more, hides=[(rb"/proc/\d+/fd/pipe:\[\d+\]", b"PIPE")]))
    found = learn(node, packages, node.write("app/main_circle.js", "const circle = require('circle')\nconsole.log(circle)\n"))
    results.report(f"{node.name}: beginning: a list of a circle", words_of(found) == ["circle"], str(found))
    settle(node)
    node.same("other beginning: one of its modules", [packages.path("circle/inner.js")], anew=HIDDEN, **dict(more, imports=found))
    node.same("beginning: a circle", [node.folder + "/app/main_circle.js"], **dict(more, imports=found))
    node.same("other beginning: after an edit", [script], anew=HIDDEN, change=lambda _: node.write("app/main.js", PATCH + text), **more)
    # Options and variables that make Node find, or run, something else. Nothing is loaded before the pause.
    script = node.write("app/main.js", "const web = require('web')\n" + SHOW)
    node.write("app/before.cjs", PATCH)
    for name, options, variables in (("links", ["--preserve-symlinks"], {}), ("links of the program", ["--preserve-symlinks-main"], {}),
                                     ("a module that is preloaded", [], {"NODE_OPTIONS": f"--require={node.folder}/app/before.cjs"}),
                                     ("an import", [], {"NODE_OPTIONS": f"--import={node.folder}/app/patch.mjs"}),
                                     ("a variable", [], {"NODE_PRESERVE_SYMLINKS": "1"})):
        environment = dict(node.base, **variables)
        found = learn(node, packages, script, options=options, environment=environment)
        results.report(f"{node.name}: beginning: none with an option: {name}", words_of(found) == [], str(words_of(found)))
        for way in ([script], [node.folder + "/app/link_away.js"]):
            node.same(f"beginning: an option: {name}", way, options=options, **dict(more, environment=environment))
    options = ["--no-warnings", "--stack-trace-limit=20", "--max-http-header-size=9000"]
    found = learn(node, packages, script, options=options)
    results.report(f"{node.name}: beginning: with plain options", words_of(found) == ["web"], str(words_of(found)))
    settle(node)
    node.same("beginning: plain options", [script], options=options, **dict(more, imports=found))


def questions(node, packages):
    """What the first requires have asked has the same answer, or the launch is started anew."""
    script = node.write("app/asks_terminal.js", "const terminal = require('terminal')\nconsole.log(terminal.x)\n" + TELL)
    imports = learn(node, packages, script)
    results.report(f"{node.name}: beginning: a question", words_of(imports) == ["terminal"] and any(line.startswith("?terminal=") for line in imports), str(imports))
    settle(node)
    node.same("beginning: no terminal", [script], environment=node.base, imports=imports)
    node.same_on_terminal("other beginning: a question about", [script], [], environment=node.base, imports=imports, anew=HIDDEN)
    script = node.write("app/asks_flag.js", "const flag = require('flag')\nconst web = require('web')\nconsole.log(flag.x, web.isPlain())\n" + TELL)
    imports = learn(node, packages, script)
    settle(node)
    results.report(f"{node.name}: beginning: a word is asked for", words_of(imports) == ["flag", "web"], str(words_of(imports)))
    node.same("beginning: without the word", [script, "x"], environment=node.base, imports=imports)
    node.same("other beginning: with the word", [script, "--flag"], environment=node.base, imports=imports, anew=HIDDEN)


def kept(node, packages):
    """The modules come from before the pause."""
    script = node.write("app/kept.js", "const reads = require('reads')\nconst wraps = require('wraps')\nconsole.log(reads.x, wraps.x)\n" + TELL)
    imports = learn(node, packages, script)
    results.report(f"{node.name}: beginning: a list of modules that share", words_of(imports) == ["reads", "wraps"], str(imports))
    settle(node)
    node.same("beginning: modules that share", [script], environment=node.base, imports=imports)
    for file in ("reads/mark.txt", "wraps/index.js", "web/index.js"):
        opened = opens(node, script, packages.path(file), imports)
        results.report(f"{node.name}: beginning: {file} is not read again", not opened, str(opened))
    # The same packages without a script are only compiled.
    found = learn(node, packages, None)
    results.report(f"{node.name}: beginning: none without a script", words_of(found) == [] and "~" + packages.path("web/index.js") + "\t-" in found, str(found))
    node.same("beginning: no list with one", [script], environment=node.base, imports=found)
    node.refused("a beginning that cannot be loaded", imports=[f"?begins:nosuch={packages.path('nosuch/index.js')}\t-"], environment=node.base)


EXPRESS = {
    "serves": "const express = require('express')\nconst app = express()\napp.use(express.json())\napp.get('/', (q, r) => r.json({a: q.query, h: q.headers.host.length > 0}))\n"
              "const s = app.listen(0, () => require('http').get({port: s.address().port, path: '/?b=1', agent: false}, (r) => { console.log(r.statusCode, r.headers['content-type']); "
              "r.on('data', (d) => { console.log(String(d)); s.close() }) }))\n",
    "middle": "'use strict'\n\nvar express = require('express');\nvar http = require('http'), path = require('path');\nvar app = module.exports = express();\n"
              "http.createServer(app).listen(0, function () { console.log('listening'); this.close() })\n" + TELL,
    "fails": "const express = require('express')()\nexpress.use(1)\n",
    "not found": "const app = require('express')()\nconst s = app.listen(0, () => require('http').get({port: s.address().port, agent: false}, (r) => { console.log(r.statusCode); "
                 "r.on('data', (d) => { console.log(String(d)); s.close() }) }))\n",
}


def express(node):
    """Express as Debian has packaged it."""
    script = node.write("express/main.js", EXPRESS["serves"])
    if subprocess.run([node.interpreter, "-e", "require('express')"], cwd=node.folder + "/express", env=node.base, capture_output=True).returncode:
        return results.skip(f"{node.name}: beginning with Express", "there is no Express")
    names = subprocess.run([node.interpreter, "-e", "require('express'); console.log(Object.keys(require.cache).join('\\n'))"],
                           cwd=node.folder + "/express", env=node.base, capture_output=True, text=True).stdout.split()
    imports = listed(inspection(node, names, script), names)
    results.report(f"{node.name}: beginning: all of Express's {len(names)} modules", words_of(imports) == ["express"] and not [line for line in imports if line[0] == "~"],
                   str(imports))
    for name, text in EXPRESS.items():
        script = node.write(f"express/{name}.js".replace(" ", "_"), text)
        node.same(f"Express: {name}", [script], environment=node.base, imports=imports, hides=cases_node.HIDES)
        node.same_on_terminal(f"Express: {name}", [script], [], environment=node.base, imports=imports, hides=cases_node.HIDES, anew=HIDDEN)
        node.same(f"Express: {name}, with a word", [script, "--color"], environment=node.base, imports=imports, hides=cases_node.HIDES, anew=HIDDEN)
    return None


def run():
    major = None
    for path, major in cases_node.interpreters():
        base = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        node = cases_node.language("node" + major, path, base)
        packages = prepare(node, Packages(node, "app"))
        for part in (cuts, programs, places, questions, kept):
            part(node, packages)
        express(node)
        shutil.rmtree(node.folder + "/app", ignore_errors=True)
        node.end()
    if major is None:
        results.skip("node", "there is no node")
