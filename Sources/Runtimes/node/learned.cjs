// The modules that Greenroom has learned to load before the pause.
//
// They are loaded, and then hidden: `require.cache` is a proxy that does not show them. When the program asks for such a
// module, and all that the module could have found is as it was before the pause, the module is put where a direct run would
// have put it now. Otherwise it is forgotten, and Node loads it. So nobody can tell which modules were loaded before the pause.
//
// What a module could have found: files, variables, the arguments, terminals, and what all modules share (world.cjs). That
// it has asked for nothing else, and has changed nothing else, is what the inspection has proved (inspect.cjs).
//
// A list may begin with what the program requires first (beginning.cjs). These requires may load builtin modules that take
// functions of others. The builtin modules stay loaded, so a launch must begin with the same requires, which find the same.
'use strict';
const Module = module.constructor;
const fs = require('fs');
const path = require('path');
const Beginning = require('./beginning.cjs');
const Compiled = require('./compiled.cjs');
const World = require('./world.cjs');
const callers = require('./callers.cjs');
const watchRequires = require('./requires.cjs');
// What the program may replace.
const { getPrototypeOf } = Object, { defineProperty } = Reflect;

// A group of fewer modules, and fewer bytes of text, is not worth its comparison.
const fewest = 4, smallest = 40_000;

// A module that sets `Error.prepareStackTrace` back to what it was, as depd does, leaves a property without a value behind, which
// was not there before (Node 18). Returns whether there was one; the program must not have it before it asks for the module.
function takeBackProperty() {
  const left = Object.getOwnPropertyDescriptor(Error, 'prepareStackTrace');
  if (hadProperty || left === undefined || left.value !== undefined || left.get !== undefined) return false;
  return delete Error.prepareStackTrace;
}
const hadProperty = Object.hasOwn(Error, 'prepareStackTrace');

const sizeOf = (modules) => modules.reduce((sum, { filename }) => sum + fs.statSync(filename).size, 0);

// The modules of a list that was learned. They form groups: a module that the program may ask for, and all that this one
// has loaded. No two groups have a module in common, so the order in which the program asks for them does not matter.
module.exports = class Learned {
  modules = [];
  get descriptions() {
    return this.#compiled.descriptions;
  }
  #groups = new Set();
  // The cache that Node would have without hidden modules, and the group of each hidden file.
  #cache = Module._cache;
  #loadPlainly = Module._load;
  #hidden = new Map();
  #stamps = new Map();
  // What the program must require first: words, the files or builtin modules that they mean, and the groups that they load.
  #words = [];
  #files = [];
  #first = [];
  // The last of these groups that the program has got. It gets each after the one before, which may have modules of it.
  #lastGiven;
  #compiled;
  #runtime;
  #load;
  #giveUp;
  // The world that all modules can find, and the worlds of those that need a builtin module.
  #common;
  #worlds = new Map();
  // The functions by which Node reads files.
  #calls;
  #variables;
  #user;
  #isLoaded = false;
  // The folders of NODE_PATH: a package that was not found may be in another folder.
  #folders = Module.globalPaths.join();
  // V8 asks for the zone once, so the inspection does not see which modules use it.
  #zone = process.env.TZ;

  constructor(runtime, lines, load, giveUp) {
    this.#runtime = runtime;
    this.#load = load;
    this.#giveUp = giveUp;
    this.#compiled = new Compiled(runtime);
    const stamps = this.#stamps, compiled = [], questions = new Map();
    for (const line of lines) {
      const [name, stamp] = line.split('\t');
      if (name.startsWith('?begins:')) {
        const [, word, file = Beginning.moduleOf(word)] = /^\?begins:([^=]+)(?:=(.*))?$/.exec(name);
        this.#words.push(word);
        this.#files.push(file);
      } else if (name.startsWith('?')) {
        const [, question, file] = /^\?(.*?)=(\/.*)/.exec(name) ?? [undefined, name];
        questions.set(file, [...questions.get(file) ?? [], question]);
      } else {
        const file = /^[=~]/.test(name) ? name.slice(1) : name;
        if (stamp !== '-' && runtime.stamp(file) !== stamp) giveUp(`${file} is another file than was inspected`);
        if (name.startsWith('=')) runtime.watch(file);
        else compiled.push(file);
        if (file === name) stamps.set(file, stamp);
      }
    }
    runtime.watch('/etc/localtime');
    this.#calls = new World([process.binding('fs')], 1);
    Module._cache = this.#hidingCache();
    this.#watchHooks();
    // Node makes some objects when they are first looked at, and asks for a stream then.
    const giveBack = this.#replaceStreams();
    World.common();
    giveBack();
    // signal-exit adds an emitter to the process, for which it alone looks. The inspection refuses signal-exit.
    World.ignore(process, '__signal_exit_emitter__');
    this.#common = World.common();
    compiled.forEach((file) => this.#compiled.add(file));
    this.#loadGroups(questions);
    this.#isLoaded = true;
  }

  // A module that only keeps a stream gets a stand-in, which leads to the launch's stream. Returns a function that
  // puts the prewarm's streams back.
  #replaceStreams() {
    const plain = ['stdout', 'stderr'].map((key) => [key, Object.getOwnPropertyDescriptor(process, key)]);
    for (const [key] of plain) {
      Object.defineProperty(process, key, { configurable: true, enumerable: true, get: () => this.#standIn(key) });
    }
    return () => plain.forEach(([key, property]) => Object.defineProperty(process, key, property));
  }

  #loadGroups(questions) {
    const giveBack = this.#replaceStreams();
    const plainCwd = Object.getOwnPropertyDescriptor(process, 'cwd'), { cwd } = process;
    Object.defineProperty(process, 'cwd', { configurable: true, enumerable: true,
      get: () => callers()[0]?.getFileName()?.endsWith('/depd/index.js') ? () => '' : cwd });
    let requires;
    const end = watchRequires((made) => requires.push(made));
    const loaded = new Set();
    const load = (root, isFirst) => {
      if (loaded.has(root)) return;
      requires = [];
      forgetPaths();
      const group = this.#loadGroup(root, requires, isFirst);
      group.questions = group.modules.flatMap(({ filename }) => questions.get(filename) ?? []);
      group.modules.forEach(({ filename }) => loaded.add(filename));
    };
    for (const file of this.#files) {
      if (path.isAbsolute(file)) load(file, true);
      else this.#load(file.startsWith('node:') ? file : `node:${file}`);
    }
    this.#first.forEach((group) => this.#hide(group));
    for (const root of this.#stamps.keys()) load(root, false);
    end();
    Object.defineProperty(process, 'cwd', plainCwd);
    giveBack();
  }

  // Hooks that the program registers are called for each module that it requires. Only this call shows that any exist.
  #watchHooks() {
    const plain = Object.getOwnPropertyDescriptor(Module, 'registerHooks');
    if (!plain) return;
    const settle = (value) => {
      this.#groups.forEach((group) => this.#forget(group));
      Object.defineProperty(Module, 'registerHooks', { ...plain, value });
      return value;
    };
    Object.defineProperty(Module, 'registerHooks', { configurable: true, enumerable: plain.enumerable,
      get: () => settle(plain.value), set: settle });
  }

  // A stand-in for a standard stream of the launch, which is made when it is first used.
  #standIn(name) {
    const real = () => process[name];
    return new Proxy({}, {
      get: (_, key) => {
        if (key === 'fd') return name === 'stdout' ? 1 : 2;
        // assert asks for isTTY, and asks again when it prints something.
        if (!this.#isLoaded) return key === 'isTTY' ? undefined : this.#giveUp(`process.${name} was used`);
        const value = Reflect.get(real(), key);
        return typeof value === 'function' ? value.bind(real()) : value;
      },
      set: (_, key, value) => Reflect.set(real(), key, value),
      has: (_, key) => Reflect.has(real(), key),
      getPrototypeOf: () => Reflect.getPrototypeOf(real()),
    });
  }

  // A cache that hides modules. Without a trap here, an operation finds Node's own cache, which lacks those modules.
  #hidingCache() {
    const forgetGroupOf = (file) => this.#hidden.has(file) && this.#forget(this.#hidden.get(file));
    return new Proxy(this.#cache, {
      get: (cache, file) => this.#hidden.has(file) ? this.#ask(this.#hidden.get(file), file) : cache[file],
      defineProperty: (cache, file, property) => {
        // A file that was not inspected does not run at all: another user may have written it.
        if (!this.#isLoaded && !this.#stamps.has(file)) this.#giveUp(`${file} was not inspected`);
        forgetGroupOf(file);
        if (property.value && getPrototypeOf(property.value) === Module.prototype) this.#compiled.offer(file, property.value);
        return defineProperty(cache, file, { __proto__: null, ...property });
      },
      deleteProperty: (cache, file) => {
        forgetGroupOf(file);
        return Reflect.deleteProperty(cache, file);
      },
      preventExtensions: (cache) => {
        this.#groups.forEach((group) => this.#forget(group));
        Module._cache = cache; // whose errors name no proxy
        return Reflect.preventExtensions(cache);
      },
      setPrototypeOf: (cache, prototype) => {
        this.#groups.forEach((group) => this.#forget(group));
        return Reflect.setPrototypeOf(cache, prototype);
      },
    });
  }

  #loadGroup(root, requires, isFirst) {
    const before = new Set(Object.keys(this.#cache));
    const builtins = new Set(), worlds = this.#worlds, common = this.#common;
    const { _load: plainLoad } = Module;
    const requests = [];
    Module._load = function (request, ...words) {
      if (words[0]) requests.push([request, words[0].path]);
      const result = plainLoad.call(this, request, ...words);
      const name = String(request).replace(/^node:/, '');
      if (World.plain.has(name) || (isFirst && World.first.has(name))) {
        builtins.add(name);
        if (!worlds.has(name)) worlds.set(name, World.of(result, common));
      }
      return result;
    };
    this.#load(root);
    const leavesProperty = takeBackProperty();
    Module._load = plainLoad;
    const modules = Object.entries(this.#cache).filter(([file]) => !before.has(file)).map(([, each]) => each);
    if (modules[0]?.filename !== root) this.#giveUp(`${root} is loaded by others`);
    // The files that names mean, as the modules have found them. The first module was asked for by its path.
    const paths = Object.entries(Module._pathCache).slice(1);
    // Node keeps what it has read of these modules' packages, even if the modules are dropped.
    this.modules.push(...modules);
    const group = { root, modules, builtins, requires, paths, requests, leavesProperty };
    // The next of the first requires finds these modules.
    if (isFirst) this.#first.push(group);
    else this.#hide(group);
    return group;
  }

  #hide(group) {
    const { modules } = group;
    for (const { filename } of modules) delete this.#cache[filename];
    // For few modules, a comparison takes longer than to load the modules anew. They have changed nothing. The first requires
    // have taken what others had, and are not done twice.
    if (!this.#first.includes(group) && modules.length < fewest && sizeOf(modules) < smallest) {
      this.#forgetFiles(group);
      return;
    }
    this.#groups.add(group);
    for (const { filename } of modules) this.#hidden.set(filename, group);
  }

  // Makes sure, before the pause, that nothing has changed which all modules share.
  compare() {
    // V8 optimizes code that runs often, and it then takes a tenth of the time.
    for (let count = 0; count < 10; count++) {
      if (this.#words.length > 0) Beginning.warmUp();
      for (const group of [...this.#groups].slice(0, count > 0 ? 3 : Infinity)) {
        const worlds = [this.#common, ...[...group.builtins].map((name) => this.#worlds.get(name))];
        if (!worlds.every((world) => world.isUnchanged())) this.#giveUp('what was loaded has changed what all modules share');
      }
    }
  }

  // Whether the program begins with the requires that have come first before the pause, and these would do the same now. If
  // a module of theirs had to be loaded anew, it would find all their builtin modules loaded.
  get isBegun() {
    if (this.#words.length === 0) return true;
    const program = Beginning.programOf(process.argv[1]), words = program ? Beginning.beginningOf(program) : [];
    if (!this.#words.every((word, i) => word === words[i])) return false;
    const files = Beginning.filesOf(this.#words, program);
    return files.every((file, i) => file === this.#files[i]) && process.env.TZ === this.#zone
      && Module.globalPaths.join() === this.#folders && this.#first.every(({ modules, questions }) =>
        questions.every(isAnsweredNo) && !modules.some(({ filename }) => filename === program));
  }

  launched() {
    this.#variables = variablesNow();
    this.#user = userNow();
    this.modules = [];
    this.#compiled.isLaunched = true;
    // A module that is the program must run as such.
    const file = Module._findPath(process.argv[1], null, true);
    const main = file && fs.realpathSync(file);
    this.#compiled.drop(main);
    for (const group of this.#groups) {
      if (group.modules.some(({ filename }) => filename === file || filename === main)) this.#forget(group);
    }
  }

  // Returns the module. If this returns nothing, Node loads the module.
  #ask(group, file) {
    // If a group asks for a module of another group, the two have this module in common.
    if (!this.#isLoaded) this.#giveUp(`${file} is loaded by others, too`);
    let parent;
    try {
      // No group can be used any more if the program has changed something.
      if (!this.#common.isUnchanged(isHarmless) || !this.#calls.isUnchanged() || Compiled.isObserved()) {
        this.#groups.forEach((each) => this.#forget(each));
      } else if (file === group.root && this.#isNext(group) && this.#isAsBefore(group)) {
        parent = this.#requirer();
      }
    } catch {
      // The program has changed something that this code needs.
    }
    this.#forget(group, parent);
    if (!parent) return undefined;
    if (this.#first.includes(group)) this.#lastGiven = group;
    // A direct run makes these streams now.
    for (const name of ['stdout', 'stderr']) if (group.questions.includes(name)) void process[name];
    if (group.leavesProperty) Error.prepareStackTrace = undefined;
    for (const each of group.modules) this.#cache[each.filename] = each;
    for (const [key, path] of group.paths) Module._pathCache[key] ??= path;
    for (const require of group.requires) require.main = process.mainModule;
    const [first] = group.modules;
    first.parent = parent;
    this.#correctParent(first, group);
    return first;
  }

  // A program can give the function `require` of a module to another module. Node adds the result to the children of
  // the first module, and then asks whether the result is loaded.
  #correctParent(first, group) {
    const plain = { configurable: true, enumerable: true, writable: true, value: first.loaded };
    const valueOf = (object, key) => Object.getOwnPropertyDescriptor(object ?? {}, key)?.value;
    const noted = (module) => valueOf(module, 'children')?.at?.(-1) === first && !group.modules.includes(module);
    Object.defineProperty(first, 'loaded', { configurable: true, enumerable: true, get: () => {
      Object.defineProperty(first, 'loaded', plain);
      const parent = Object.keys(this.#cache).map((file) => valueOf(this.#cache, file)).find(noted);
      if (parent) first.parent = parent;
      return plain.value;
    } });
  }

  #forget(group, isGiven) {
    this.#groups.delete(group);
    if (!isGiven && this.#first.includes(group)) {
      this.#first.forEach((other) => this.#groups.has(other) && this.#forget(other));
    }
    for (const { filename } of group.modules) this.#hidden.delete(filename);
    if (!isGiven) this.#forgetFiles(group);
    else group.modules.forEach(({ filename }) => this.#compiled.drop(filename));
  }

  // Node also remembers which file a request for a folder means, until it finds no module of that file.
  #forgetFiles({ requests }) {
    if (Object.isFrozen(Module)) return; // its functions cannot be replaced then
    const plain = ['_cache', '_resolveFilename'].map((key) => [key, Object.getOwnPropertyDescriptor(Module, key)]);
    Object.defineProperty(Module, '_cache', { configurable: true, value: {} });
    Object.defineProperty(Module, '_resolveFilename', { configurable: true, value: () => { throw undefined; } });
    for (const [request, path] of requests) {
      try {
        this.#loadPlainly.call(Module, request, { path });
      } catch {
        // The request is forgotten.
      }
    }
    for (const [key, property] of plain) Object.defineProperty(Module, key, property);
  }

  #isNext(group) {
    const place = this.#first.indexOf(group);
    return place < 0 || this.#first[place - 1] === this.#lastGiven;
  }

  #isAsBefore(group) {
    return process.env.TZ === this.#zone && [...group.builtins].every((name) => this.#worlds.get(name).isUnchanged())
      && group.questions.every(isAnsweredNo) && variablesNow() === this.#variables && Module.globalPaths.join() === this.#folders
      && userNow() === this.#user && group.requires.every(isOpen)
      && 'value' in Object.getOwnPropertyDescriptor(process, 'mainModule') && this.#runtime.areUnchanged();
  }

  // Returns the module that has called its `require`. Code that loads a module in another way may make it the program,
  // or nobody's child, and `import` finds a module long before the module is to run.
  #requirer() {
    const sites = callers();
    let index = sites.findIndex((site) => !site.getFileName()?.startsWith('node:'));
    // The functions of v8-compile-cache call the method of their module.
    const near = sites[index];
    if (near?.getFileName()?.endsWith('/v8-compile-cache.js') && near.getFunctionName() === 'require') index += 1;
    else if (sites[index - 1]?.getFunctionName() !== 'require') return undefined;
    const file = sites.slice(index).find((site) => site.getFileName())?.getFileName();
    return Object.getOwnPropertyDescriptor(this.#cache, file)?.value;
  }
};

// v8-compile-cache replaces the method that compiles modules, but the functions stay the same.
function isHarmless(key, value) {
  return key === '_compile' && String(value).includes('self._moduleCompile(filename, content)');
}

function forgetPaths() {
  for (const key of Object.keys(Module._pathCache)) delete Module._pathCache[key];
}

// Another user may not be able to read the files.
function userNow() {
  return [process.geteuid(), process.getegid(), ...process.getgroups()].join();
}

const isOpen = (require) => Object.getOwnPropertyDescriptor(require, 'main')?.writable;

function variablesNow() {
  return Object.entries(process.env).flat().join('\0');
}

// Whether the answer to a question that a module asked while it was loaded is still the same: no.
function isAnsweredNo(question) {
  if (['stdout', 'stderr', 'directory'].includes(question)) return true;
  if (question === 'terminal') return ![0, 1, 2].some((number) => require('tty').isatty(number));
  const kind = question.slice(0, question.indexOf(':')), word = question.slice(kind.length + 1);
  if (kind === 'argument') return !process.argv.includes(word);
  if (kind === 'variables') return !Object.keys(process.env).some((name) => name.toLowerCase().startsWith(word));
  return false;
}
