// Finds out for Greenroom what modules do besides defining things when they are loaded. It runs in a separate process.
//
//     node [OPTIONS] inspect.cjs [PROGRAM] <LIST
//
// LIST has a module on each line: a builtin ("node:fs") or a path, as `require.cache` spells it. libgreenroom-trace.so is
// preloaded: it writes which functions of the C library were called, and this file tells it, by getenv(3), where each
// module begins and ends, and what happens in Node itself: uses of the arguments and streams, reads of all variables,
// questions about the caller, work for later, and changes of what all modules share (world.cjs).
//
// An answer that many launches share is a question of the list, which the hook asks again when the program wants the
// module: ?terminal, ?argument:WORD, ?variables:PREFIX, ?stderr (which is kept and not used), each with =PATH.
//
// What PROGRAM requires first (beginning.cjs) is loaded first, in its order. It may load builtin modules that take functions of
// others (`takes`), because a launch is started anew unless it begins with the same requires.
'use strict';
const Module = module.constructor;
const fs = require('fs');
const path = require('path');
const Beginning = require('./beginning.cjs');
const World = require('./world.cjs');
const watchRequires = require('./requires.cjs');
const callers = require('./callers.cjs');
const inspector = require('inspector');
const { types } = require('util');

const variables = process.env;
const tell = (text) => void variables[`greenroom ${text}`];
const lines = fs.readFileSync(0, 'utf8').split('\n').filter((line) => line !== '');
const names = lines.filter((line) => !line.startsWith('!'));
// What the manifest excludes.
const excluded = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1));

// The modules in progress, the innermost last.
const progress = [];
const does = (reason) => tell(`does ${reason}`);
const ask = (question) => tell(`reads ?${question}=${progress.at(-1)}`);

// The program, and what it requires first.
const [called] = process.argv.splice(2);
const program = called && Beginning.isKnown(process.execArgv) ? Beginning.programOf(called) : undefined;
const words = program ? Beginning.beginningOf(program) : [];
let isFirst = false;
// What this file reads is nobody's.
let isComparing = false;
// It gives what another module has at this moment, which the program may have replaced.
function takes(name) {
  if (!isFirst) return does('known');
  // A module may have replaced something for a moment.
  if (progress.length > 0 && !isComparing) compareWorld();
  return tell(`takes ${name}`);
}

const PlainError = Error;

// The place of the code that has called the function which calls this one.
const place = () => callers().find((site) => site.getFileName());
const caller = () => place()?.getFileName() ?? '';

const first = words.length > 0 ? World.first : [];
for (const name of [...World.plain, ...first]) require(name);
// Node makes these values when they are first asked for.
for (const key of Object.getOwnPropertyNames(globalThis)) void globalThis[key];

// The folders in which packages are installed.
for (const place of new Set(names.map((name) => /^.*?\/node_modules(?=\/)/.exec(name)?.[0]))) {
  if (place) tell(`place ${place}`);
}

// Watches functions that change, or ask for, something that cannot be compared afterwards.
function watch(object, keys, reason) {
  for (const key of keys) {
    const plain = object?.[key];
    if (typeof plain !== 'function') continue;
    const watched = new Proxy(plain, {
      apply(target, receiver, words) {
        does(reason);
        return Reflect.apply(target, receiver, words);
      },
    });
    Object.defineProperty(object, key, { ...Object.getOwnPropertyDescriptor(object, key), value: watched });
  }
}
const { AsyncLocalStorage, AsyncHook } = require('async_hooks');
watch(process, ['chdir'], 'directory');
// depd keeps the directory for its warnings. If the directory is empty, it asks each time that it warns.
const { cwd } = process;
process.cwd = () => {
  if (progress.length === 0) return cwd();
  if (caller().endsWith('/depd/index.js')) {
    ask('directory');
    return '';
  }
  does('directory');
  return cwd();
};
watch(process, ['exit', 'abort', 'kill', 'dlopen'], 'runs');
watch(process, ['listeners', 'rawListeners', 'listenerCount', 'eventNames', 'emit', 'getuid', 'geteuid', 'getgid', 'getegid',
  'getgroups', '_getActiveHandles', '_getActiveRequests', 'getActiveResourcesInfo'], 'state');
watch(process, ['umask', 'setUncaughtExceptionCaptureCallback', 'setSourceMapsEnabled', 'setMaxListeners', 'setuid', 'setgid',
  'seteuid', 'setegid', 'setgroups', 'initgroups', '_setupDomainUse', 'binding', '_linkedBinding', 'emitWarning'], 'state');
watch(process.hrtime, ['bigint'], 'time');
watch(process, ['hrtime', 'uptime'], 'time');
watch(AsyncLocalStorage.prototype, ['run', 'enterWith', 'exit'], 'state');
watch(require('async_hooks'), ['createHook', 'executionAsyncId', 'triggerAsyncId', 'executionAsyncResource'], 'state');
watch(require('dns'), ['setServers', 'setDefaultResultOrder'], 'state');
watch(require('crypto'), ['setEngine', 'setFips'], 'state');
watch(require('net'), ['setDefaultAutoSelectFamily', 'setDefaultAutoSelectFamilyAttemptTimeout'], 'state');
watch(require('v8'), ['setFlagsFromString', 'setHeapSnapshotNearHeapLimit'], 'state');
watch(require('vm'), ['measureMemory'], 'async');
// What a script declares is not a property of the global object.
watch(require('vm'), ['runInThisContext'], 'state');
watch(require('vm').Script.prototype, ['runInThisContext'], 'state');
// Errors that belong to another context are not found at the end.
watch(require('vm'), ['createContext', 'runInContext', 'runInNewContext'], 'caller');
watch(require('vm').Script.prototype, ['runInContext', 'runInNewContext'], 'caller');
watch(require('events'), ['setMaxListeners'], 'state');
watch(require('diagnostics_channel'), ['channel', 'subscribe', 'tracingChannel', 'hasSubscribers'], 'state');
watch(require('perf_hooks').performance, ['mark', 'measure', 'now', 'timerify', 'toJSON', 'getEntries', 'getEntriesByName',
  'getEntriesByType', 'clearMarks', 'clearMeasures', 'eventLoopUtilization'], 'time');
watch(require('perf_hooks').PerformanceObserver.prototype, ['observe'], 'state');
watch(Module, ['register', 'syncBuiltinESMExports', 'enableCompileCache', 'getCompileCacheDir', 'flushCompileCache',
  'setSourceMapsSupport', 'registerHooks', '_initPaths'], 'state');
watch(require('os'), ['loadavg', 'freemem', 'uptime', 'networkInterfaces', 'hostname', 'setPriority', 'getPriority',
  'availableParallelism'], 'time');
watch(globalThis, ['fetch'], 'network');
watch(process, ['getBuiltinModule'], 'known'); // past `require`, which the hook watches

// These modules change what all modules share, so nothing could be said about modules that are loaded after them. They
// are not loaded here.
const known = /\/(?:v8-compile-cache\/v8-compile-cache|graceful-fs\/graceful-fs|source-map-support\/(?:register|source-map-support)|pirates\/lib\/index|esm\/esm|dd-trace\/init|newrelic\/index)\.c?js$/;

// Whether only this user, or root, can have written the file. Another user's code would otherwise run here at any
// time. The folders of the file's real path count, whatever links lead there. In a sticky folder nobody can replace
// the file.
const { statSync, realpathSync } = fs;
const trusted = new Map();
const users = [0, process.getuid()];
function isTrusted(file) {
  if (!trusted.has(file)) {
    const status = statSync(file), { uid, gid, mode } = status;
    const isShared = (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && gid !== 0);
    const isSticky = status.isDirectory() && (mode & 0o1000) !== 0;
    trusted.set(file, users.includes(uid) && (!isShared || isSticky) && (file === '/' || isTrusted(path.dirname(file))));
  }
  return trusted.get(file);
}

// The kernel is asked for the state of a file without a function of the C library.
let isResolving = false;
function noteQuestions(object, key) {
  const plain = object[key], copy = (...words) => {
    if (!isResolving && progress.length > 0) {
      if (typeof words[0] === 'number') does(words[0] <= 2 ? 'terminal' : 'descriptor');
      else fs.existsSync(words[0]); // which does call one
    }
    return plain(...words);
  };
  object[key] = Object.assign(copy, plain);
}
noteQuestions(fs.realpathSync, 'native');
for (const key of ['statSync', 'lstatSync', 'fstatSync', 'realpathSync']) noteQuestions(fs, key);

// Watches the arguments. That a word is missing is an answer that many launches share. util.inspect looks at the
// target of a proxy, and first asks the target for a function.
const whenInspected = (target, get) => Object.defineProperty(target, Symbol.for('nodejs.util.inspect.custom'), { configurable: true, get });
function watchedWords(words) {
  const note = (key) => [key, (...call) => {
    if (progress.length > 0) does('arguments');
    return Reflect[key](...call);
  }];
  const keys = ['has', 'ownKeys', 'set', 'getOwnPropertyDescriptor', 'defineProperty', 'deleteProperty', 'setPrototypeOf'];
  return new Proxy(whenInspected(words, () => does('arguments')), {
    ...Object.fromEntries(keys.map(note)),
    get(target, key) {
      if (key !== 'indexOf' && key !== 'includes') {
        if (progress.length > 0) does('arguments');
        return Reflect.get(target, key);
      }
      return (word, ...from) => {
        if (typeof word !== 'string' || !/^[\x21-\x7e]+$/.test(word) || word.includes('=/') || from.length > 0) does('arguments');
        else ask(`argument:${word}`);
        return key === 'includes' ? false : -1;
      };
    },
  });
}
process.argv = watchedWords(process.argv);
// Node reads the properties of a builtin module when the module is required. Only the stream is made by that.
function noteReads(object, key, note) {
  const property = Object.getOwnPropertyDescriptor(object, key);
  if (!property?.configurable) return;
  Object.defineProperty(object, key, {
    configurable: true, enumerable: property.enumerable,
    get() {
      if (progress.length > 0 && !isComparing && (key === 'stdin' || !/^(?:node:|$)/.test(caller()))) note();
      return property.get ? property.get.call(object) : property.value;
    },
    set(value) {
      does('state');
      if (property.set) property.set.call(object, value);
      else property.value = value;
    },
  });
}
for (const key of ['execArgv', 'argv0', 'title']) noteReads(process, key, () => does('arguments'));
noteReads(process, 'stdin', () => does('terminal'));
// debug and optionator keep one of these streams, and use it when they print.
const keepers = { stdout: '/optionator/lib/index.js', stderr: '/debug/src/node.js' };
for (const [stream, keeper] of Object.entries(keepers)) {
  const property = Object.getOwnPropertyDescriptor(process, stream);
  Object.defineProperty(process, stream, { ...property, get() {
    if (progress.length === 0 || !caller().endsWith(keeper)) {
      does('terminal');
      return property.get.call(process);
    }
    ask(stream);
    return new Proxy({}, { get: (_, key) => key === 'fd' ? 2 : does('terminal') });
  } });
}
for (const key of ['ppid', 'debugPort', 'report']) noteReads(process, key, () => does('state'));
for (const key of ['_events', '_eventsCount']) noteReads(process, key, () => does('state'));
require('tty').isatty = (number) => {
  if (number >= 0 && number <= 2) ask('terminal');
  return false;
};

// A variable is read by getenv(3). Code that asks for all names reads every variable, unless it only wants one prefix:
const asksForPrefix = /Object\.keys\(process\.env\)\.filter\((?:function \(key\)|\(?key\)? =>) \{\s*return \/\^(\w+)\/i\.test\(key\)/;
process.env = new Proxy(whenInspected({}, () => tell('reads *')), {
  get: (_, key) => variables[key],
  has: (_, key) => key in variables,
  set: (_, key, value) => Reflect.set(variables, key, value),
  deleteProperty: (_, key) => Reflect.deleteProperty(variables, key),
  setPrototypeOf: (target, value) => (does('state'), Reflect.setPrototypeOf(target, value)),
  defineProperty: (_, key, { value }) => Reflect.set(variables, key, value),
  getOwnPropertyDescriptor: (_, key) => Reflect.getOwnPropertyDescriptor(variables, key),
  ownKeys() {
    if (progress.length === 0) return Reflect.ownKeys(variables);
    const file = progress.at(-1);
    const prefix = file.endsWith('/debug/src/node.js') && asksForPrefix.exec(fs.readFileSync(file, 'utf8'))?.[1].toLowerCase();
    if (!prefix) {
      tell('reads *');
      return Reflect.ownKeys(variables);
    }
    ask(`variables:${prefix}`);
    return []; // of which no name is read
  },
});

// Code that asks for its callers finds this file among them. depd only asks which module calls it.
const { captureStackTrace } = Error;
Error.captureStackTrace = Object.assign(function (...words) {
  if (progress.length > 0 && !caller().endsWith('/depd/index.js')) does('caller');
  return captureStackTrace(...words);
}, captureStackTrace);
Error.prepareStackTrace = (error, sites) => {
  if (progress.length > 0) does('caller');
  return [String(error), ...sites.map((site) => `    at ${site}`)].join('\n');
};

// WeakRef and FinalizationRegistry show when the garbage collector works. An event and a mark keep the time.
const made = { WeakRef: 'state', FinalizationRegistry: 'state', Event: 'time', CustomEvent: 'time', PerformanceMark: 'time' };
for (const [name, reason] of Object.entries(made)) {
  if (!globalThis[name]) continue;
  globalThis[name] = new Proxy(globalThis[name], {
    construct: (target, words, made) => (does(reason), Reflect.construct(target, words, made)),
  });
}
// Node makes these classes when they are first asked for.
for (const key of ['ReadStream', 'WriteStream', 'FileReadStream', 'FileWriteStream']) noteReads(fs, key, () => takes('fs'));
noteReads(globalThis, 'crypto', () => takes('crypto'));
// A change of these is not found by a comparison.
if (words.length > 0) {
  noteReads(require('http'), 'globalAgent', () => does('state'));
  noteReads(require('crypto'), 'DEFAULT_ENCODING', () => undefined);
  watch(require('http'), ['setMaxIdleHTTPParsers'], 'state');
  watch(require('crypto'), ['setFips', 'setEngine'], 'state');
}

// Notes work that a module leaves for later. A promise that nobody waits for yet may be rejected.
require('async_hooks').createHook({ init: () => progress.length > 0 && does('async') }).enable();

// `require.main === module` is false in a module that is required, before the pause as afterwards.
function isCompared() {
  const site = place(), line = fs.readFileSync(site.getFileName(), 'utf8').split('\n')[site.getLineNumber() - 1] ?? '';
  const [before, after] = [line.slice(0, site.getColumnNumber() - 1), line.slice(site.getColumnNumber() - 1)];
  return /\brequire\.$/.test(before) && /^main\s*[!=]==?\s*module\b(?!\s*[.?[(])/.test(after)
    || /\bmodule\s*[!=]==?\s*require\.$/.test(before) && /^main\b(?!\s*[.?[(])/.test(after);
}
watchRequires((require) => {
  noteReads(require, 'main', () => isCompared() || does('caller'));
  noteReads(require, 'cache', () => does('order'));
  whenInspected(require, () => does('caller'));
}, () => progress.length > 0 && !/^(?:node:|$)/.test(caller()) && does('caller'));
const cache = Module._cache;
noteReads(Module, '_cache', () => does('order'));
// These parts of the loader show what the loader finds where. The hook replaces one of them while a list is loaded.
const parts = ['_load', '_resolveFilename', '_findPath', '_pathCache'];

// What these modules keep is not used before they are called, or counts their calls. They drop a promise at once.
const harmless = { '/lodash/lodash.js': ['time', 'async'], '/lodash/_shortOut.js': ['time'], '/lodash/_getTag.js': ['async'] };

let world, listeners;
const listenersNow = () => [process.exitCode, process.domain, Object.getOwnPropertyDescriptor(process, 'mainModule')?.get,
  ...Module.globalPaths, ...process._preload_modules ?? [], ...Object.entries(process._events).flat()];
function takeWorld() {
  world = World.whole(first);
  listeners = listenersNow();
}
function compareWorld() {
  isComparing = true;
  const now = listenersNow();
  if (!world.isUnchanged() || now.length !== listeners.length || !now.every((value, i) => value === listeners[i])) {
    does('state');
    takeWorld();
  }
  isComparing = false;
}

function begin(name) {
  if (progress.length > 0) compareWorld();
  progress.push(name);
  tell(`begin ${name}`);
  for (const [ending, reasons] of Object.entries(harmless)) {
    if (name.endsWith(ending)) reasons.forEach((reason) => tell(`spares ${reason}`));
  }
}

function end(name, hasFailed) {
  compareWorld();
  tell(`${hasFailed ? 'fails' : 'end'} ${name}\t${name.startsWith('/') ? name : ''}`);
  progress.pop();
}

function during(name, call) {
  let hasFailed = true;
  begin(name);
  try {
    const result = call();
    hasFailed = false;
    return result;
  } finally {
    end(name, hasFailed);
  }
}

// Notes the file, so that it is noticed if the file appears or changes. Node looks for packages in folders that the
// hook watches.
const { _load: load, _resolveFilename: resolveFilename } = Module;
Module._resolveFilename = function (request, parent, isMain, options) {
  if (isResolving || progress.length === 0) return resolveFilename.call(this, request, parent, isMain, options);
  if (options?.paths || (parent && cache[parent.filename] !== parent)) does('opens');
  isResolving = true;
  let file;
  try {
    file = resolveFilename.call(this, request, parent, isMain, options);
    return file;
  } finally {
    isResolving = false;
    if (file === undefined && /^\.\.?(?:\/|$)/.test(request) && parent?.filename) file = path.resolve(path.dirname(parent.filename), request);
    if (file !== undefined && path.isAbsolute(file)) fs.existsSync(file);
  }
};
Module._load = function (request, parent, isMain) {
  let file;
  try {
    file = Module._resolveFilename(request, parent, isMain);
  } catch {
    // The call below fails as well, with an error that names the modules that have loaded the parent.
  }
  if (file === undefined || !path.isAbsolute(file)) {
    const name = file?.replace(/^node:/, '');
    if (name !== undefined && !World.plain.has(name)) World.first.has(name) ? takes(name) : does('known');
    if (World.asking.has(name)) ask('stderr');
    return loadAsNode(request, parent, isMain);
  }
  if (cache[file]) {
    tell(`needs ${file}`);
    return loadAsNode(request, parent, isMain);
  }
  return during(file, () => {
    if (known.test(file) || file === program) does('known');
    if (known.test(file)) throw new PlainError('it is known to change what all modules share');
    if (file === program) throw new PlainError('it is the program');
    if (!isTrusted(realpathSync(file))) throw new PlainError('another user may have written it');
    return loadAsNode(request, parent, isMain);
  });
};
function loadAsNode(...words) {
  try {
    return load.apply(Module, words);
  } catch (error) {
    if (error?.code === 'MODULE_NOT_FOUND') for (const key of ['message', 'requireStack']) noteReads(error, key, () => does('caller'));
    throw error;
  }
}
for (const key of parts) noteReads(Module, key, () => does('known'));
// A module that is loaded before the pause has no parent yet.
const { load: loadFile } = Module.prototype;
Module.prototype.load = function (file) {
  const get = () => does('caller');
  Object.defineProperty(this, 'parent', { configurable: true, get, set: get });
  try {
    return loadFile.call(this, file);
  } finally {
    if (Object.getOwnPropertyDescriptor(this, 'parent')?.get !== get) does('caller');
    delete this.parent;
  }
};
// A module that ends the process fails.
process.reallyExit = () => {
  throw new PlainError('it ends the process');
};
process.on('uncaughtException', () => undefined); // of work that a module has left

// Loads what the program requires first. This ends before what could not be loaded in a prewarm, and after what a statement takes
// from a module by other code.
async function loadFirst() {
  isFirst = true;
  const files = Beginning.filesOf(words, program, resolveFilename);
  for (const [i, word] of words.entries()) {
    const file = files[i], name = file?.replace(/^node:/, '');
    // Those of `asking`, and `process`, make streams when they are loaded.
    const isBuiltin = World.first.has(name) || (World.plain.has(name) && !World.asking.has(name) && name !== 'process');
    if (!isBuiltin && !/^\/usr\/.*\.js$|\/node_modules\/.*\.js$/.test(file)) break;
    // A launch has shown that the program runs, and what it loads.
    if (!isBuiltin && !names.includes(file)) break;
    if (excluded.some((one) => `${Beginning.moduleOf(word)}/`.startsWith(`${one}/`))) break;
    tell(`first ${word}\t${isBuiltin ? `node:${name}` : file}`);
    let exports;
    try {
      if (!isBuiltin) exports = Module._load(file, undefined, false);
      else exports = during(`node:${name}`, () => (World.first.has(name) && takes(name), require(name)));
    } catch {
      break;
    }
    await new Promise((resolve) => setImmediate(resolve));
    takeWorld();
    if (!isPlain(exports, Beginning.namesOf(word))) break;
  }
  isFirst = false;
  tell('first -');
}

// Whether to take these properties runs no code.
function isPlain(exports, names) {
  return names.length === 0 || !types.isProxy(exports)
    && names.every((name) => Object.getOwnPropertyDescriptor(Object(exports), name)?.writable !== undefined);
}

takeWorld();
(async () => {
  if (words.length > 0) await loadFirst();
  for (const name of names) {
    if (cache[name]) continue;
    try {
      if (!name.startsWith('node:')) Module._load(name, undefined, false);
      else during(name, () => World.plain.has(name.slice('node:'.length)) ? require(name) : does('known'));
    } catch {
      // The trace has it.
    }
    await new Promise((resolve) => setImmediate(resolve));
    takeWorld();
  }
  for (const each of keepersOfErrors()) during(each, () => does('caller'));
  tell('done');
})();

// Returns the modules that keep an error. Its stack, written when it is first read, shows what has loaded the module.
function keepersOfErrors() {
  const session = new inspector.Session();
  session.connect();
  const post = (method, parameters) => {
    let result;
    session.post(method, parameters, (failure, success) => { result = success; });
    return result;
  };
  const { result: { objectId } } = post('Runtime.evaluate', { expression: 'Error.prototype' });
  const { objects } = post('Runtime.queryObjects', { prototypeObjectId: objectId });
  post('Runtime.callFunctionOn', { objectId: objects.objectId, functionDeclaration: 'function () { globalThis.greenroomErrors = this }' });
  const stacks = globalThis.greenroomErrors.filter((error) => Object.hasOwn(error, 'stack')).map(({ stack }) => String(stack));
  session.disconnect();
  const files = Object.keys(cache).filter((file) => path.dirname(file) !== __dirname);
  const fileOf = (line) => files.find((file) => line.includes(`${file}:`));
  return new Set(stacks.flatMap((stack) => fileOf(stack.split('\n').find(fileOf) ?? '') ?? []));
}
