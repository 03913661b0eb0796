#!/usr/bin/env node
// Says which numbers are prime, as primes.c does. Its manifest:
//
//     [App]
//     Exec=/usr/local/bin/primes.cjs
//     [Prewarm]
//     Depth=declared
//
// JavaScript cannot call functions of C, so primes-pause.c, built as primes-pause.node beside this
// file, does it. Greenroom pauses programs in Node.js after the interpreter's start without any of
// this. A program that pauses itself decides how much of its own work comes before the pause.
'use strict';
const path = require('path');

const limit = 1_000_000;

function makeTable() {
  const isComposite = new Uint8Array(limit);
  isComposite[0] = isComposite[1] = 1;
  for (let number = 2; number * number < limit; number++) {
    if (isComposite[number]) continue;
    for (let multiple = number * number; multiple < limit; multiple += number) isComposite[multiple] = 1;
  }
  return isComposite;
}

/** Waits for the launch, and gives the process its arguments. `process.env` shows the launch's by itself. */
function prewarmPause() {
  const words = require(path.join(__dirname, 'primes-pause.node')).prewarmPause();
  // The interpreter and its options come before the script's name.
  if (words) process.argv.splice(2, Infinity, ...words.slice(2 + process.execArgv.length));
}

const table = makeTable();
// Node.js looks at the standard streams when a program first uses `console` or `process.stdout`,
// so nothing may be printed before the pause.
prewarmPause();
for (const word of process.argv.slice(2)) {
  const number = Number(word);
  if (!(number >= 0 && number < limit)) {
    console.error(`${word}: not in the table`);
    process.exitCode = 1;
    break;
  }
  console.log(`${word}: ${table[number] ? 'no' : process.env.PRIME ?? 'prime'}`);
}
