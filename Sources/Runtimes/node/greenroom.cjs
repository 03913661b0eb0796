// Pauses Node between its start and its program, for Greenroom.
//
// The daemon runs `node [OPTIONS] -r THIS_FILE PLACEHOLDER`. Node loads this file before its program.
// This file loads what GREENROOM_IMPORTS lists: names of builtin modules ("node:fs") and paths. Then
// Node asks for Module.runMain, in order to run its program. There this file waits for a launch,
// and hands the launch's program to runMain. Node runs it by itself. If the program could notice a
// difference from a direct call, Node is executed anew with the launch's words in the same process.
'use strict';
const Module = module.constructor;
const fs = require('fs');
const path = require('path');
const Beginning = require('./beginning.cjs');
const Learned = require('./learned.cjs');

const recordLimit = 65_536; // in bytes; the daemon reads no longer record
// Why Node starts anew (enum gr_anew_reason in CPrewarm/wire.h).
const otherOptions = 1, otherProgram = 2, otherBeginning = 3, changed = 4, otherVariables = 5, failed = 7;
// The variables that Node reads at its start. NODE_PATH and HOME are read again at the launch.
const variables = 'NODE_CHANNEL_* NODE_CLUSTER_* NODE_COMPILE_* NODE_DEBUG* NODE_DISABLE_* NODE_EXTRA_* NODE_ICU_* ' +
  'NODE_NO_* NODE_OPTIONS NODE_PENDING_* NODE_PRESERVE_* NODE_REDIRECT_* NODE_REPL_* NODE_SKIP_* NODE_TLS_* ' +
  'NODE_UNIQUE_ID NODE_USE_* NODE_V8_* FORCE_COLOR NO_COLOR OPENSSL_* SSL_CERT_* UV_* WATCH_* LANG LANGUAGE LC_* LD_*';

for (const file of Object.keys(require.cache)) if (path.dirname(file) === __dirname) delete require.cache[file];
if (realPath(process.argv[1]) === path.join(__dirname, 'placeholder')) {
  prepare();
} else {
  // This is a worker thread, which inherits the options of the process.
  process.execArgv = optionsOf(process.execArgv);
}
const ownPlace = process._preload_modules.findIndex((name) => realPath(name) === __filename);
if (ownPlace >= 0) process._preload_modules.splice(ownPlace, 1);

// Node names modules by their real paths, and its program by the path with which it was called.
function realPath(name) {
  try {
    return fs.realpathSync(name);
  } catch {
    return undefined; // no name, or no such file
  }
}

function optionsOf(words) {
  const hook = words.findIndex((word, i) => word === '-r' && realPath(words[i + 1]) === __filename);
  return hook < 0 ? words : [...words.slice(0, hook), ...words.slice(hook + 2)];
}

// A process that was not prepared as the daemon prepares it must not run anything.
function giveUp(message) {
  fs.writeSync(2, `greenroom: ${message}\n`);
  process.reallyExit(72);
}

function loadNamed(name) {
  try {
    if (name.startsWith('node:')) require(name);
    else Module._load(name, undefined, false);
  } catch (error) {
    giveUp(`${name}: ${error?.message}`); // Half-loaded modules stay, so the process is of no use.
  }
}

function prepare() {
  const addon = { exports: {} };
  process.dlopen(addon, path.join(__dirname, '../libgreenroom-runtime.so'));
  const runtime = addon.exports;
  const imports = runtime.take('GREENROOM_IMPORTS') ?? '';
  const record = runtime.take('GREENROOM_RECORD');
  if (!runtime.findStreams()) giveUp('this Node keeps its streams elsewhere');

  const atEnd = record && noteEnd();
  const runMain = Object.getOwnPropertyDescriptor(Module, 'runMain');
  const settle = (value) => Object.defineProperty(Module, 'runMain', { ...runMain, value });
  Object.defineProperty(Module, 'runMain', {
    configurable: true,
    enumerable: true,
    get() {
      settle(runMain.value);
      const learned = load(runtime, imports.split('\n').filter((line) => line !== ''));
      watchFiles(runtime, learned?.modules ?? Object.values(require.cache), learned?.descriptions ?? []);
      learned?.compare();
      const words = runtime.wait();
      if (!words) giveUp('nobody waits for this process');
      try {
        become(runtime, words);
        if (learned?.isBegun === false) runtime.startAnew(otherBeginning);
        learned?.launched();
        atEnd?.(() => recordImports(runtime, record));
      } catch {
        runtime.startAnew(failed);
      }
      runtime.goOn();
      /^/.exec(''); // Node resets RegExp's memory of the last match before it runs a program.
      // A bound function adds no frame to stack traces. Recent versions pass the program's name as
      // it was before this file ran.
      return runMain.value.bind(Module, process.argv[1]);
    },
    set: settle,
  });
}

// Whether Node would tell of hidden modules: by source maps (module.findSourceMap), coverage, profiles, the sequence
// of Math.random, or a warning when a module gets its parent.
function isTold() {
  const words = [...process.execArgv, process.env.NODE_OPTIONS].join(' ').replace(/_/g, '-');
  return /--(?:enable-source-maps|random-seed|pending-deprecation|cpu-prof|heap-prof)/.test(words)
    || process.env.NODE_V8_COVERAGE || process.env.NODE_PENDING_DEPRECATION === '1';
}

// Loads what the lines name. Lines that were learned have stamps. The author of any other list knows the effects.
function load(runtime, lines) {
  const isLearned = lines.some((line) => line.includes('\t'));
  const begins = lines.some((line) => line.startsWith('?begins:'));
  const isTelling = isLearned && (isTold() || begins && !Beginning.isKnown(optionsOf(process.execArgv)));
  const learned = isLearned && !isTelling ? new Learned(runtime, lines, loadNamed, giveUp) : undefined;
  if (!isLearned) lines.forEach(loadNamed);
  // Node is to look up again which file a name means.
  for (const key of Object.keys(Module._pathCache)) delete Module._pathCache[key];
  if (process._getActiveHandles().length + process._getActiveRequests().length > 0) {
    giveUp('what was imported waits for events');
  }
  return learned;
}

// Watches the loaded files, their folders, the folders above up to the package, each package.json for which Node has
// looked there (or will, for a module that is only compiled), and the folders in which Node looks for packages. The folder above node_modules is not watched: other
// programs write to it at any time.
function watchFiles(runtime, modules, descriptions) {
  const watched = new Set([...Module.globalPaths, ...descriptions]);
  for (const { filename: file, paths } of modules) {
    watched.add(file);
    for (const folder of paths ?? []) watched.add(folder);
    for (let folder = path.dirname(file); ; folder = path.dirname(folder)) {
      watched.add(folder);
      const description = path.join(folder, 'package.json');
      watched.add(description);
      if (fs.existsSync(description) || folder === '/' || path.basename(folder) === 'node_modules') break;
    }
  }
  for (const file of watched) runtime.watch(file);
}

const zone = process.env.TZ;

// Makes this process the launch, or starts Node anew.
function become(runtime, words) {
  const options = optionsOf(process.execArgv);
  const [name, ...rest] = words.slice(1 + options.length);
  if (options.some((word, i) => word !== words[1 + i])) runtime.startAnew(otherOptions);
  // "inspect" is one of Node's commands.
  if (!name || name.startsWith('-') || name === 'inspect') runtime.startAnew(otherProgram);
  if (!runtime.haveEqualVariables(variables)) runtime.startAnew(otherVariables);
  if (!runtime.areUnchanged()) runtime.startAnew(changed);

  process.chdir('.'); // Node forgets the name of the working directory.
  Module._initPaths(); // NODE_PATH and HOME
  if (process.env.TZ !== zone) {
    // V8 and ICU read TZ again when it is set or deleted.
    const current = process.env.TZ;
    process.env.TZ = current ?? '';
    if (current === undefined) delete process.env.TZ;
  }
  const argv0 = Object.getOwnPropertyDescriptor(process, 'argv0');
  Object.defineProperty(process, 'argv0', { ...argv0, value: words[0] });
  process.execArgv.splice(0, Infinity, ...options);
  process.argv.splice(1, Infinity, path.resolve(name), ...rest);
}

// Returns a function that sets what is called when the program ends. A program could see a listener
// (process.listenerCount), so this notices the end when Node looks for `process.emit`. A program that replaces that
// method is not recorded. The accessor must be there before the first look at what all modules share.
function noteEnd() {
  const { emit } = process;
  let atEnd;
  Object.defineProperty(Object.getPrototypeOf(process), 'emit', {
    configurable: true,
    enumerable: false,
    get() {
      if (process._exiting && atEnd) {
        const call = atEnd;
        atEnd = undefined;
        call();
      }
      return emit;
    },
    set(value) {
      Object.defineProperty(this, 'emit', { configurable: true, enumerable: true, writable: true, value });
    },
  });
  const { pid } = process;
  return (call) => {
    atEnd = () => process.pid === pid && call();
  };
}

// Sends the modules that the program has loaded, in the order in which their loading began. The files of a program
// that is not installed may be edited at any time, so only the modules of its packages are sent. Builtin modules are
// not sent: they take what they need from others when they are loaded, and the program may replace that first.
function recordImports(runtime, record) {
  try {
    const main = process.mainModule?.filename ?? fs.realpathSync(process.argv[1]);
    const isInstalled = /^\/usr\/|\/node_modules\//;
    let text = Object.keys(require.cache).filter((file) => file !== main && isInstalled.test(file)).join('\n');
    // The daemon reads no more.
    while (Buffer.byteLength(text) >= recordLimit) text = text.slice(0, text.lastIndexOf('\n'));
    runtime.sendTo(record, `${text}\n`);
  } catch {
    // Without the list, the daemon learns nothing.
  }
}
