// Compiles modules before the pause that the program runs after its launch, for Greenroom.
//
// To compile a module runs nothing of it. When Node loads the module, it asks for the text of the file (fs.readFileSync),
// and then for the module's method `_compile`. The first answer is the text that was compiled, and the second a function
// that calls what was compiled, and that looks in a stack as Node's own method does. Each answer is given once. If the
// program has replaced anything that Node asks for on this way, or if the file is another one, Node compiles the module.
'use strict';
const Module = module.constructor;
const fs = require('fs');
const path = require('path');
const vm = require('vm');
const callers = require('./callers.cjs');

const { apply, defineProperty, deleteProperty, getOwnPropertyDescriptor: descriptorOf, getPrototypeOf: prototypeOf, ownKeys } = Reflect;
const { toString: textOf } = Function.prototype;
const { prototype: { _compile: compile }, wrap, wrapper: [wrapperBegin, wrapperEnd] } = Module;
const parameters = ['exports', 'require', 'module', '__filename', '__dirname'];

// What Node asks for while it loads a module, and what is used here before the module runs.
let asked;
const whatIsAsked = () => [
  [Module, ['_extensions', '_nodeModulePaths', 'wrap', 'wrapper']], [Module.prototype, ['load', '_compile', 'parent']],
  [Module._extensions, ['.js', '.json', '.node']], [fs, ['readFileSync', 'openSync', 'readSync', 'closeSync']],
  [path, ['basename', 'dirname', 'resolve', 'toNamespacedPath']], [Buffer, ['allocUnsafe']],
  [Buffer.prototype, ['toString', 'slice', 'utf8Slice']], [process.binding('fs'), ['open', 'fstat', 'read', 'close', 'readFileUtf8']],
  [Array.prototype, ['filter', 'includes', 'map', 'some', Symbol.iterator]], [prototypeOf([].values()), ['next']],
  [String.prototype, ['startsWith']], [Map.prototype, ['delete', 'get']],
].flatMap(([object, keys]) => keys.filter((key) => Object.hasOwn(object, key)).map((key) => [object, key, descriptorOf(object, key)]));
const endingCount = ownKeys(Module._extensions).length;
const reading = { __proto__: null, ...descriptorOf(fs, 'readFileSync') };

function isReplaced() {
  for (let i = 0; i < asked.length; i++) {
    const plain = asked[i][2], property = descriptorOf(asked[i][0], asked[i][1]);
    if (property === undefined || property.value !== plain.value || property.get !== plain.get
      || property.writable !== plain.writable || property.enumerable !== plain.enumerable) return true;
  }
  const { wrapper } = Module;
  // Node asks whether the object is a module.
  if (descriptorOf(Module, Symbol.hasInstance) !== undefined) return true;
  return Module.wrap !== wrap || wrapper[0] !== wrapperBegin || wrapper[1] !== wrapperEnd || ownKeys(Module._extensions).length !== endingCount;
}

// Whether the program looks at how modules are compiled: source maps change stacks, and a debugger counts calls.
const isObserved = () => ['internal/source_map/prepare_stack_trace', 'inspector']
  .some((name) => process.moduleLoadList.includes(`NativeModule ${name}`));

// Returns what Node calls a module with.
const wordsFor = (module, file) => apply(compile, module, ['return arguments', file]);
// Returns a function that stands for Node's `_compile` in a stack: it has the same name, and makes its call in the same
// place. `take` returns what is called; undefined if that place is not known.
function imitation(someModule, take) {
  const sites = callers(() => apply(compile, someModule, ['return new Error().stack', __filename]));
  const site = sites.find((each) => each.getFunctionName() === 'Module._compile');
  const before = 'result = ';
  const [line, column] = [site?.getLineNumber(), site?.getColumnNumber()];
  if (!(line > 1 && column > before.length)) return undefined;
  const text = `'use strict'; return Module.prototype._compile = function (...words) { const next = take(this, words); let result;
${before.padStart(column - 1)}apply(next.run, next.words[0], next.words);
next.end(); return result; };`;
  return vm.compileFunction(text, ['Module', 'apply', 'take'], { filename: site.getFileName(), lineOffset: line - 2 })(
    { prototype: {} }, apply, take);
}

// Where Node offers it (20.10), a module that was compiled can import() all the same. Node warns then that this is new.
const importModuleDynamically = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER;

// An `import()` needs a function that Node gives to its own loader alone. Text that a module evaluates may have one, too.
const imports = new RegExp([String.raw`\bimport(?=\s*(?:\(|/[/*]))`, String.raw`\beval\b`, String.raw`\.\s*constructor(?=\s*\()`,
  // Of a function that the text makes, or asks for.
  String.raw`(?<=[)}\]]\s*)\.\s*constructor\b(?!\s*(?:\.\s*(?:name|prototype)\b|[!=]==?))`,
  String.raw`(?<!instanceof\s)\bFunction\b(?!\s*\.\s*prototype\b|\s*\(\s*(['"])return this\1\s*\))`].join('|'), 'g');
// Whether the text may import in such a way, apart from comments and strings. In code, `enum` is always an error.
function mayImport(text) {
  if (text.search(imports) < 0) return false;
  try {
    vm.compileFunction(text.replace(imports, ' enum'), parameters);
    return false;
  } catch {
    return true;
  }
}

// To read a pipe would take from the program what it is to read, or wait for somebody else.
function readPlainFile(file) {
  if (!fs.statSync(file).isFile()) throw new Error(`${file} is no plain file`);
  return fs.readFileSync(file, 'utf8');
}

module.exports = class Compiled {
  // The descriptions of packages, also missing ones, that say of which kind a module is.
  descriptions = new Set();
  // By path.
  #modules = new Map();
  #runtime;
  #next;
  #imitation;
  // How Node compiles a text. It compiles in another way after any program has set the wrapper.
  #plainText;
  // Node's mark for a module that is running.
  #running;
  isLaunched = false;

  constructor(runtime) {
    this.#runtime = runtime;
    asked = whatIsAsked();
    const someModule = new Module(__filename);
    this.#plainText = apply(textOf, wordsFor(someModule, __filename).callee, []);
    this.#running = ownKeys(someModule).find((key) => key.description === 'kIsExecuting');
    this.#imitation = imitation(someModule, (module, words) => this.#take(module, words));
  }

  // Compiles a module.
  add(file) {
    if (!this.#imitation || this.#isOfOtherKind(file)) return;
    try {
      const stamp = this.#runtime.stamp(file), text = readPlainFile(file);
      if (mayImport(text)) return;
      const run = vm.compileFunction(text, parameters, { filename: file, importModuleDynamically });
      if (this.#runtime.stamp(file) === stamp) this.#modules.set(file, { text, run, stamp });
    } catch {
      // Node tells the program what is wrong.
    }
  }

  // Whether Node takes the file for data, or for an ECMAScript module.
  #isOfOtherKind(file) {
    if (/\.(?:json|node|mjs)$/.test(file)) return true;
    if (!file.endsWith('.js')) return false;
    for (let folder = path.dirname(file); path.basename(folder) !== 'node_modules'; folder = path.dirname(folder)) {
      const description = path.join(folder, 'package.json');
      this.descriptions.add(description);
      try {
        return JSON.parse(readPlainFile(description)).type === 'module';
      } catch (error) {
        if (error.code !== 'ENOENT') return true;
      }
      if (folder === '/') break;
    }
    return false;
  }

  drop(file) {
    this.#modules.delete(file);
  }

  // Node has made the module and is about to load it.
  offer(file, module) {
    let compiled;
    try {
      if (!isReplaced()) compiled = this.#modules.get(file);
      if (!compiled || !this.#isUsable(file, module, compiled)) return;
    } catch {
      return; // The program has changed something that this code needs.
    }
    if (this.isLaunched) this.#modules.delete(file);
    let isRead = false;
    this.#answerOnce(fs, 'readFileSync', reading, () => {
      isRead = true;
      return () => compiled.text;
    });
    this.#answerOnce(module, '_compile', undefined, () => {
      defineProperty(fs, 'readFileSync', reading);
      if (!isRead) return compile;
      const words = wordsFor(module, file);
      if (apply(textOf, words.callee, []) !== this.#plainText) return compile;
      this.#next = { module, run: compiled.run, words, end: () => this.#running && (module[this.#running] = false) };
      return this.#imitation;
    });
  }

  #isUsable(file, module, { stamp }) {
    if (isObserved() || this.#runtime.stamp(file) !== stamp) return false;
    // If nobody requires the module, Node keeps the states of files for as long as the module runs.
    if (this.isLaunched && (!module.parent || prototypeOf(module.parent) !== Module.prototype)) return false;
    // Node asks for this, so a function of the program's could look at the stack.
    if (this.isLaunched && !descriptorOf(process, 'mainModule')?.writable) return false;
    // Programs put modules into the cache, too, which Node then does not load.
    const [caller] = callers(undefined, 7);
    return caller?.getFunctionName() === 'Module._load' && caller.getFileName()?.startsWith('node:');
  }

  #take(module, words) {
    const next = this.#next;
    this.#next = undefined;
    // The program has changed the package's description. Then a stack shows another `_compile`.
    if (words[2] === 'module') next.run = compile.bind(module, ...words);
    if (this.#running) module[this.#running] = true;
    return next;
  }

  #answerOnce(object, key, plain, answer) {
    defineProperty(object, key, { __proto__: null, configurable: true, enumerable: plain?.enumerable ?? false, get() {
      if (plain) defineProperty(object, key, plain);
      else deleteProperty(object, key);
      return answer();
    } });
  }

  static isObserved = isObserved;
};
