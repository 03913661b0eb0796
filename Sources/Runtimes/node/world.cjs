// The objects that all modules share, for Greenroom: the global object and the builtin modules, with the objects that
// can be reached from them in a few steps. The inspection finds out with it which modules change something there. The
// hook finds out whether the program has changed something before it asks for a module that was loaded before the
// pause.
'use strict';
const Module = module.constructor;
const buffer = require('buffer'), events = require('events'), fs = require('fs'), stream = require('stream'), util = require('util');
const { is } = Object, { stringify } = JSON;
const { ownKeys, getOwnPropertyDescriptor: descriptorOf, getPrototypeOf: prototypeOf, isExtensible, apply } = Reflect;

// Builtin modules that only define things when they are loaded. Those that also ask for process.stderr are in
// `asking`. Modules that take functions or classes of others when they are loaded are missing, because a program may
// replace these first: http evaluates net.createConnection, zlib and crypto take stream.Transform.
const asking = new Set(['assert', 'assert/strict']);
const plain = new Set(('assert assert/strict async_hooks buffer constants diagnostics_channel events fs fs/promises ' +
  'module os path path/posix path/win32 perf_hooks process querystring readline readline/promises stream ' +
  'stream/consumers stream/promises stream/web string_decoder timers timers/promises tty url util util/types vm').split(' ')
  .filter((name) => Module.builtinModules.includes(name)));
// Builtin modules that take functions or classes of others when they are loaded, and do nothing else: they read no files and
// variables, and keep nothing that differs from launch to launch. A program's first requires may load them: nothing has
// replaced anything before. `dns` reads the system's
// configuration, `cluster`, `http2` and `repl` look at variables or streams, and `worker_threads` changes what all modules share.
const first = new Set('net http https zlib crypto tls child_process dgram punycode'.split(' ')
  .filter((name) => Module.builtinModules.includes(name)));
// The modules that Node itself uses to load a module, and those from which others are made.
const common = ['buffer', 'events', 'module', 'path', 'process', 'stream', 'url', 'util', 'vm'];

// Objects of the language that have no name.
const unnamed = () => [
  [].values(), new Map().values(), new Set().values(), ''[Symbol.iterator](), ''.matchAll(/x/g),
  function* () {}, async function () {}, async function* () {}, Uint8Array,
  new URLSearchParams().entries(), new Intl.Segmenter().segment(''), new Intl.Segmenter().segment('')[Symbol.iterator](),
].map(prototypeOf);

// Objects that modules use and that are more steps away than others.
const distant = () => [Intl, WebAssembly, util.inspect, console.Console];

// If the module of `process` is required, its streams are made.
const builtin = (name) => name === 'process' ? process : require(name);

const isObject = (value) => typeof value === 'function' || (typeof value === 'object' && value !== null);

// Properties that any program changes and no module asks for, and properties that the launch changes.
const own = new Map([
  [process, new Set(['mainModule', 'title', 'exitCode', 'moduleLoadList', '_preload_modules', '_events', '_eventsCount', '_exiting', 'domain'])],
  [Module, new Set(['globalPaths'])],
  [Module.prototype.require, new Set(['main'])],
  [Error, new Set(['prepareStackTrace'])],
]);

// A module that sets this back to what it was leaves a property without a value, where there was none before. To all others,
// that is the same.
function prepareStackTrace() {
  const property = descriptorOf(Error, 'prepareStackTrace');
  return property?.writable === false ? property : property?.get ?? property?.value;
}

// The state behind accessors, which a comparison of the accessors does not show.
function hiddenState() {
  const { EventEmitter, captureRejections } = events;
  const { readFileSync, realpathSync, statSync, lstatSync, existsSync, openSync, readSync, closeSync } = fs;
  return [prepareStackTrace(), buffer.INSPECT_MAX_BYTES, stream.getDefaultHighWaterMark?.(false), stream.getDefaultHighWaterMark?.(true),
    EventEmitter.defaultMaxListeners, captureRejections, stringify(util.inspect.defaultOptions),
    process.exitCode, process.hasUncaughtExceptionCaptureCallback(), Module.wrap, Module.wrapper[0], Module.wrapper[1],
    // Node uses these to load a module.
    readFileSync, realpathSync, statSync, lstatSync, existsSync, openSync, readSync, closeSync];
}

// Some accessors replace themselves by the value when they are first asked.
function isSameLazily(object, property, now) {
  return now !== undefined && 'value' in now && property.get !== undefined
    && is(apply(property.get, object, []), now.value);
}

class World {
  #found = [];
  // The keys that are left out of each object in `#found`.
  #ignored = [];
  #seen;
  #hidden = hiddenState();

  // `roots`: objects. `depth`: how many steps are taken from them. The objects of `others` are left out.
  constructor(roots, depth, others = []) {
    this.#seen = new Set(others.flatMap((other) => [...other.#seen]));
    for (const object of [process.env, process.argv, process.execArgv, Module._cache, Module._pathCache, process.moduleLoadList,
      process._events]) this.#seen.add(object);
    let next = roots;
    for (; depth > 0; depth--) {
      const objects = next;
      next = [];
      for (const object of objects) {
        if (!this.#seen.has(object)) next.push(...this.#note(object));
      }
    }
  }

  // Returns the objects that are one step away.
  #note(object) {
    this.#seen.add(object);
    // Nobody looks for what others add to a plain function.
    if (typeof object === 'function' && ownKeys(object).length === 2) return [];
    const keys = ownKeys(object).filter((key) => !own.get(object)?.has(key));
    const values = [], accessors = [], next = [], prototype = prototypeOf(object);
    if (prototype !== null) next.push(prototype);
    for (const key of keys) {
      const property = descriptorOf(object, key);
      if (!('value' in property)) {
        accessors.push(key, property);
        // Loading this takes nothing from other modules.
        if (object === fs && key === 'promises') next.push(apply(property.get, object, []));
        continue;
      }
      values.push(key, property.value);
      if (isObject(property.value)) next.push(property.value);
    }
    this.#ignored.push(own.has(object) ? [...own.get(object)] : undefined);
    this.#found.push({ object, prototype, isOpen: isExtensible(object), keys, values, accessors });
    return next;
  }

  // Whether everything is as it was. `isHarmless(key, value)`: whether a change does not matter. The compared objects
  // may have been replaced, so this uses nothing of theirs.
  isUnchanged(isHarmless = () => false) {
    for (let i = 0; i < this.#found.length; i++) {
      const { object, prototype, isOpen, keys, values, accessors } = this.#found[i];
      if (prototypeOf(object) !== prototype || isExtensible(object) !== isOpen) return false;
      const now = ownKeys(object), ignored = this.#ignored[i];
      let count = now.length;
      for (let j = 0; ignored !== undefined && j < ignored.length; j++) {
        if (descriptorOf(object, ignored[j]) !== undefined) count--;
      }
      if (count !== keys.length) return false;
      for (let j = 0; j < values.length; j += 2) {
        const key = values[j];
        const property = descriptorOf(object, key);
        if (property === undefined || !('value' in property)) return false;
        if (!is(property.value, values[j + 1]) && !isHarmless(key, property.value)) return false;
      }
      for (let j = 0; j < accessors.length; j += 2) {
        const property = accessors[j + 1], current = descriptorOf(object, accessors[j]);
        if (current !== undefined && current.get === property.get && current.set === property.set) continue;
        if (!isSameLazily(object, property, current)) return false;
      }
    }
    const hidden = hiddenState();
    for (let i = 0; i < hidden.length; i++) {
      if (hidden[i] !== this.#hidden[i]) return false;
    }
    return true;
  }

  // Leaves out a property of worlds that are made from now on.
  static ignore(object, key) {
    own.get(object).add(key);
  }

  static plain = plain;
  static asking = asking;
  static first = first;

  // The world that every module can find.
  static common() {
    return new World([globalThis, ...common.map(builtin), ...unnamed(), ...distant()], 3);
  }

  static of(builtin, ...others) {
    return new World([builtin], 3, others);
  }

  // The world of all plain builtin modules, and of these others, one step larger.
  static whole(others = []) {
    const modules = [...plain, ...others].map(builtin);
    // Node gives these by accessors.
    const given = modules.flatMap(({ webcrypto, subtle }) => [webcrypto, subtle]).filter(isObject);
    return new World([globalThis, ...modules, ...given, ...unnamed(), ...distant()], 4);
  }
}

module.exports = World;
