// Reads for Greenroom what a program of Node requires first: the statements at its beginning that do nothing else.
//
// A beginning is a list of words: `NAME` for `require('NAME')`, and `NAME{a,b}` for `const { a, b } = require('NAME')`. A
// program that begins so has run nothing before. Nothing of the program runs here.
'use strict';
const Module = module.constructor;
const fs = require('fs');
const path = require('path');
const vm = require('vm');

// In bytes. The text is looked through to its end, so a program that is one long file would lose time.
const largest = 512 * 1024;
const name = String.raw`[A-Za-z_$][\w$]*(?![\w$\\\u0080-\uffff])`;
const property = String.raw`${name}(?:\s*:\s*${name})?\s*`;
const tokens = Object.fromEntries(Object.entries({
  // With comments, which may be on several lines.
  space: String.raw`(?:\s+|\/\/[^\n\r\u2028\u2029]*|\/\*[^]*?\*\/)*`,
  firstLine: String.raw`#![^\n\r\u2028\u2029]*`,
  strict: `'use strict'|"use strict"`,
  declares: String.raw`(?:const|let|var)(?![\w$\\\u0080-\uffff])`,
  name,
  names: String.raw`\{\s*(?:${property}(?:,\s*${property})*(?:,\s*)?)?\}`,
  sets: '=(?![=>])',
  request: String.raw`require\s*\(\s*(?:'[\w@./:~+-]+'|"[\w@./:~+-]+")\s*\)`,
  semicolon: ';',
  comma: ',',
}).map(([key, text]) => [key, new RegExp(text, 'y')]));

// A function declaration of this name would be in the place of Node's from the beginning on, wherever it is.
const mayReplaceRequire = /\bfunction\b[\s*]*(?:\/[/*]|<!--|-->|require\b|[\w$]*\\)/;
// Without these words, no text is an ECMAScript module, whose imports would run first.
const mayBeModule = /\b(?:import|export|await)\b/;
const parameters = ['exports', 'require', 'module', '__filename', '__dirname'];

// Returns the words of the program in this file. None if it is not certain that Node runs the file as a script.
function beginningOf(file) {
  try {
    const status = fs.statSync(file);
    if (!status.isFile() || status.size > largest || !['', '.js', '.cjs'].includes(path.extname(file))) return [];
    if (!file.endsWith('.cjs') && isOfModules(path.dirname(file))) return [];
    const text = fs.readFileSync(file, 'utf8'), words = wordsOf(text);
    if (words.length > 0) {
      if (mayReplaceRequire.test(text)) return [];
      if (mayBeModule.test(text)) vm.compileFunction(text, parameters);
    }
    return words;
  } catch {
    return []; // no such file, or no script
  }
}

// Whether the nearest description of a package says that its files are ECMAScript modules.
function isOfModules(folder) {
  for (; path.basename(folder) !== 'node_modules'; folder = path.dirname(folder)) {
    const description = path.join(folder, 'package.json');
    if (fs.existsSync(description)) return JSON.parse(fs.readFileSync(description, 'utf8')).type === 'module';
    if (folder === '/') break;
  }
  return false;
}

function wordsOf(text) {
  const words = [];
  let place = 0;
  const take = (token) => {
    token.lastIndex = place;
    const found = token.exec(text)?.[0];
    if (found) place = token.lastIndex;
    return found;
  };
  const skip = () => take(tokens.space) ?? '';
  // Whether the statement may end here. What would go on with it after the end of a line is none of the statements here, and
  // it is evaluated after the require.
  const ends = () => /[\n\r\u2028\u2029]/.test(skip()) || place === text.length || take(tokens.semicolon);
  const request = (names) => {
    const found = take(tokens.request);
    const module = found && /['"](.*)['"]/.exec(found)[1];
    // A file of the program's own runs its code.
    if (!module || /^[./]/.test(module)) return false;
    words.push(names === undefined ? module : `${module}{${names.map((one) => one.split(':')[0].trim())}}`);
    return true;
  };
  const declaration = () => {
    for (;;) {
      skip();
      const isOne = take(tokens.name), several = isOne ? undefined : take(tokens.names);
      if (!isOne && !several) return false;
      const names = several?.slice(1, -1).split(',').filter((one) => one.trim() !== '');
      // A variable of this name takes the place of Node's function.
      if ((names ?? [isOne]).some((one) => one.split(':').at(-1).trim() === 'require')) return false;
      skip();
      if (!take(tokens.sets)) return false;
      skip();
      if (!request(names)) return false;
      const after = place;
      skip();
      if (take(tokens.comma)) continue;
      place = after;
      return ends();
    }
  };
  take(tokens.firstLine);
  for (;;) {
    skip();
    if (place === text.length) return words;
    if (take(tokens.semicolon)) continue;
    if (take(tokens.strict) ? ends() : take(tokens.declares) ? declaration() : request() && ends()) continue;
    return words;
  }
}

const moduleOf = (word) => word.split('{')[0];
const namesOf = (word) => /\{(.+)\}$/.exec(word)?.[1].split(',') ?? [];

// Returns the file that Node runs if its program is called so; undefined if there is none.
function programOf(called) {
  try {
    return fs.realpathSync(Module._findPath(path.resolve(called), null, true));
  } catch {
    return undefined;
  }
}

// Returns the file, or the builtin module, that each word means in this program; undefined for one that is missing, or of which Node
// warns: the program would cause the same warning again.
function filesOf(words, program, resolve = Module._resolveFilename) {
  const asking = Object.assign(new Module(program), { filename: program, paths: Module._nodeModulePaths(path.dirname(program)) });
  const before = new Set(Object.keys(Module._pathCache));
  const warns = Object.getOwnPropertyDescriptor(process, 'emitWarning');
  let hasWarned;
  Object.defineProperty(process, 'emitWarning', { ...warns, value: () => { hasWarned = true; } });
  try {
    return words.map((word) => {
      hasWarned = false;
      try {
        const file = resolve.call(Module, moduleOf(word), asking, false);
        return hasWarned ? undefined : file;
      } catch {
        return undefined;
      }
    });
  } finally {
    Object.defineProperty(process, 'emitWarning', warns);
    for (const key of Object.keys(Module._pathCache)) if (!before.has(key)) delete Module._pathCache[key];
  }
}

// Options that change neither what runs before the program nor what its first requires find.
const plainOption = new RegExp('^--(?:(?:max-old-space-size|max-semi-space-size|stack-size|stack-trace-limit|max-http-header-size|' +
  'unhandled-rejections|dns-result-order|tls-cipher-list)=[^\'"]+|(?:no-)?(?:warnings|deprecation|trace-warnings|trace-deprecation|' +
  'throw-deprecation|trace-uncaught|expose-gc|insecure-http-parser|tls-(?:min|max)-v1\\.[0-3]))$');
const otherVariables = ['NODE_PRESERVE_SYMLINKS', 'NODE_PRESERVE_SYMLINKS_MAIN', 'NODE_USE_ENV_PROXY', 'NODE_CHANNEL_FD', 'NODE_UNIQUE_ID'];

// Whether this Node is known to run nothing before the program, and to load builtin modules without a look at anything else.
function isKnown(options) {
  const words = [...options, ...(process.env.NODE_OPTIONS ?? '').split(/\s+/)].filter((word) => word !== '');
  return /^v(?:18|20)\./.test(process.version) && words.every((word) => plainOption.test(word.replace(/_/g, '-')))
    && otherVariables.every((variable) => process.env[variable] === undefined);
}

// Reads a beginning, so that V8 has compiled this code when a launch needs it.
function warmUp() {
  wordsOf("#!x\n'use strict'\n// x\nconst { a, b: c } = require('a');var d = require(\"d\")\n, e = require('e')\nrequire('f')\nf()");
  for (const token of [mayReplaceRequire, mayBeModule]) token.test('f');
}

module.exports = { warmUp, beginningOf, programOf, filesOf, moduleOf, namesOf, isKnown };
