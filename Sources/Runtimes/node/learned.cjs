// The modules that Greenroom has learned to load before the pause.
//
// They are loaded, and then hidden: `require.cache` does not show them. When the program asks for such a module, and all
// that the module could have found is as it was before the pause, the module is put where a direct run would have put it
// now. Otherwise it is forgotten, and Node loads it. So nobody can tell which modules were loaded before the pause.
//
// What a module could have found: files, variables, the arguments, terminals, and what all modules share (world.cjs). That
// it has asked for nothing else, and has changed nothing else, is what the inspection has proved (inspect.cjs).
'use strict';
const Module = module.constructor;
const fs = require('fs');
const World = require('./world.cjs');

// A group of fewer modules, and fewer bytes of text, is not worth its comparison.
const fewest = 4, smallest = 40_000;

const sizeOf = (modules) => modules.reduce((sum, { filename }) => sum + fs.statSync(filename).size, 0);

// The modules of a list that was learned. They form groups: a module that the program may ask for, and all that this one
// has loaded. No two groups have a module in common, so the order in which the program asks for them does not matter.
module.exports = class Learned {
  modules = [];
  #groups = [];
  #cache = Module._cache;
  #runtime;
  #load;
  #giveUp;
  // What all modules can find, and what those can that need a builtin module.
  #common;
  #worlds = new Map();
  #variables;
  #isLoaded = false;
  // Of NODE_PATH: a package that was not found may be in another.
  #folders = Module.globalPaths.join();
  // V8 asks for the zone once, so the inspection does not see which modules use it.
  #zone = process.env.TZ;

  constructor(runtime, lines, load, giveUp) {
    this.#runtime = runtime;
    this.#load = load;
    this.#giveUp = giveUp;
    const stamps = new Map(), questions = new Map();
    for (const line of lines) {
      const [name, stamp] = line.split('\t');
      if (name.startsWith('?')) {
        const [, question, file] = /^\?(.*?)=(\/.*)/.exec(name) ?? [undefined, name];
        questions.set(file, [...questions.get(file) ?? [], question]);
      } else {
        const file = name.startsWith('=') ? name.slice(1) : name;
        if (stamp !== '-' && runtime.stamp(file) !== stamp) giveUp(`${file} is another file than was inspected`);
        if (file === name) stamps.set(file, stamp);
        else runtime.watch(file);
      }
    }
    runtime.watch('/etc/localtime');
    this.#common = World.common();
    const plain = ['stdout', 'stderr', 'cwd'].map((key) => [key, Object.getOwnPropertyDescriptor(process, key)]);
    // A module that only keeps one of these gets what leads to the launch's.
    for (const key of ['stdout', 'stderr']) {
      Object.defineProperty(process, key, { configurable: true, enumerable: true, get: () => this.#standIn(key) });
    }
    const { cwd } = process;
    process.cwd = () => filesOfCallers()[0]?.endsWith('/depd/index.js') ? '' : cwd();
    const loaded = new Set();
    for (const file of stamps.keys()) {
      if (!loaded.has(file)) this.#loadGroup(file, stamps, questions).forEach(({ filename }) => loaded.add(filename));
    }
    for (const [key, property] of plain) Object.defineProperty(process, key, property);
    this.#isLoaded = true;
  }

  // Leads to a standard stream of the launch, which is made when it is first used.
  #standIn(name) {
    const real = () => process[name];
    return new Proxy({}, {
      get: (_, key) => {
        if (key === 'fd') return name === 'stdout' ? 1 : 2;
        // assert asks, and asks again when it prints something.
        if (!this.#isLoaded) return key === 'isTTY' ? undefined : this.#giveUp(`process.${name} was used`);
        const value = Reflect.get(real(), key);
        return typeof value === 'function' ? value.bind(real()) : value;
      },
      set: (_, key, value) => Reflect.set(real(), key, value),
      has: (_, key) => Reflect.has(real(), key),
      getPrototypeOf: () => Reflect.getPrototypeOf(real()),
    });
  }

  #loadGroup(root, stamps, questions) {
    const before = new Set(Object.keys(this.#cache));
    const builtins = new Set(), worlds = this.#worlds, common = this.#common, giveUp = this.#giveUp;
    const { require: plainRequire, load: plainLoad } = Module.prototype;
    Module.prototype.require = function (request) {
      const name = String(request).replace(/^node:/, '');
      const result = plainRequire.call(this, request);
      if (World.plain.has(name)) {
        builtins.add(name);
        if (!worlds.has(name)) worlds.set(name, World.of(result, common));
      }
      return result;
    };
    // What was not inspected does not run at all: another user may have written it.
    Module.prototype.load = function (file) {
      if (!stamps.has(file)) giveUp(`${file} was not inspected`);
      return plainLoad.call(this, file);
    };
    this.#load(root);
    Module.prototype.require = plainRequire;
    Module.prototype.load = plainLoad;
    const modules = Object.entries(this.#cache).filter(([file]) => !before.has(file)).map(([, each]) => each);
    const group = { root, modules, builtins, getters: [], questions: modules.flatMap(({ filename }) => questions.get(filename) ?? []) };
    if (modules[0]?.filename !== root) this.#giveUp(`${root} is loaded by others`);
    // Node keeps what it has read of their packages, also of those that are dropped.
    this.modules.push(...modules);
    // A comparison of the world takes longer than to load these anew. They have changed nothing.
    if (modules.length < fewest && sizeOf(modules) < smallest) {
      for (const { filename } of modules) delete this.#cache[filename];
      return modules;
    }
    this.#groups.push(group);
    // If another group asks for one of these, they have something in common.
    for (const { filename } of modules) {
      Object.defineProperty(this.#cache, filename, { configurable: true, enumerable: false,
        get: () => this.#giveUp(`${filename} is loaded by others, too`) });
    }
    return modules;
  }

  // The program is not to see what it has not asked for.
  hide() {
    for (const group of this.#groups) {
      for (const { filename } of group.modules) {
        const get = () => this.#ask(group, filename);
        group.getters.push(get);
        Object.defineProperty(this.#cache, filename, {
          configurable: true, enumerable: false, get,
          set: (value) => {
            this.#forget(group);
            this.#cache[filename] = value;
          },
        });
      }
    }
    // What is used often is optimized by V8, and then takes a tenth of the time.
    for (let count = 0; count < 10; count++) {
      for (const group of this.#groups.slice(0, count > 0 ? 3 : Infinity)) {
        const worlds = [this.#common, ...[...group.builtins].map((name) => this.#worlds.get(name))];
        if (!worlds.every((world) => world.isUnchanged())) this.#giveUp('what was loaded has changed what all modules share');
      }
    }
  }

  launched() {
    this.#variables = variablesNow();
    // A module that is the program must run as such.
    const file = Module._findPath(process.argv[1], null, true);
    const main = file && fs.realpathSync(file);
    for (const group of this.#groups) {
      if (group.modules.some(({ filename }) => filename === file || filename === main)) this.#forget(group);
    }
  }

  // Returns the module, or nothing, so that Node loads it.
  #ask(group, file) {
    let reader;
    try {
      // What the program has changed stays changed.
      if (!this.#common.isUnchanged(isHarmless)) this.#groups.forEach((each) => this.#forget(each));
      else if (file === group.root && this.#isAsBefore(group)) reader = readerOfCache();
    } catch {
      // The program has changed what this needs.
    }
    if (!reader) {
      this.#forget(group);
      return undefined;
    }
    // A direct run makes these now.
    for (const name of ['stdout', 'stderr']) if (group.questions.includes(name)) void process[name];
    for (const each of group.modules) {
      delete this.#cache[each.filename];
      this.#cache[each.filename] = each;
    }
    const [first] = group.modules;
    if (reader.module) first.parent = reader.module;
    return first;
  }

  #forget(group) {
    group.modules.forEach(({ filename }, i) => {
      if (this.#isHidden(group, i)) delete this.#cache[filename];
    });
  }

  // Whether the program has put nothing in the place of the module with this index.
  #isHidden(group, i) {
    return Object.getOwnPropertyDescriptor(this.#cache, group.modules[i].filename)?.get === group.getters[i];
  }

  #isAsBefore(group) {
    return process.env.TZ === this.#zone && [...group.builtins].every((name) => this.#worlds.get(name).isUnchanged())
      && group.questions.every(isAnsweredNo)
      && Module._cache === this.#cache && group.modules.every((_, i) => this.#isHidden(group, i))
      && variablesNow() === this.#variables && Module.globalPaths.join() === this.#folders && this.#runtime.areUnchanged();
  }
};

// v8-compile-cache compiles modules in another way, to the same functions.
function isHarmless(key, value) {
  return key === '_compile' && /self\._moduleCompile\(filename, content\)/.test(value);
}

function variablesNow() {
  return Object.entries(process.env).flat().join('\0');
}

// What a module has asked while it was loaded, and what the answer was then: no.
function isAnsweredNo(question) {
  if (['stdout', 'stderr', 'directory'].includes(question)) return true;
  if (question === 'terminal') return ![0, 1, 2].some((number) => require('tty').isatty(number));
  const [kind, word] = question.split(/:(.*)/);
  if (kind === 'argument') return !process.argv.includes(word);
  if (kind === 'variables') return !Object.keys(process.env).some((name) => name.toLowerCase().startsWith(word));
  return false;
}

// The files of the functions that call this file, the nearest first.
function filesOfCallers() {
  const plain = ['prepareStackTrace', 'stackTraceLimit'].map((key) => [key, Object.getOwnPropertyDescriptor(Error, key)]);
  Error.stackTraceLimit = 12;
  Error.prepareStackTrace = (_, sites) => sites.map((site) => site.getFileName());
  const files = new Error().stack;
  for (const [key, property] of plain) {
    if (property) Object.defineProperty(Error, key, property);
    else delete Error[key];
  }
  return files.filter((file) => file !== __filename);
}

const isNodes = (file) => !file || file.startsWith('node:');

// Who reads Module._cache: undefined unless it is Node, which looks for a module; then `module` is the module that
// requires it, if there is one.
function readerOfCache() {
  const files = filesOfCallers();
  if (!files[0]?.startsWith('node:')) return undefined;
  const file = files.find((each) => !isNodes(each));
  if (file === undefined) return {};
  const module = Object.getOwnPropertyDescriptor(Module._cache, file)?.value;
  return module && { module };
}
