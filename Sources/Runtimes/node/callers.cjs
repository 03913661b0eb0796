// Finds out for Greenroom which code has called.
'use strict';
// What the program may replace.
const { Error } = globalThis, { defineProperty, getOwnPropertyDescriptor, deleteProperty } = Reflect;
const folder = `${__dirname}/`;

// Returns the places of the code that has led to a call of this folder's files, the nearest first. What the program
// may have replaced is put back. `stack` reads the property of an error that is made then, and `limit` counts the places of
// this folder, too.
module.exports = function callers(stack = () => new Error().stack, limit = 13) {
  const values = { stackTraceLimit: limit, prepareStackTrace: (_, sites) => sites };
  const plain = ['stackTraceLimit', 'prepareStackTrace'].map((key) => [key, getOwnPropertyDescriptor(Error, key)]);
  for (const [key] of plain) {
    // Without a call of the program's own accessor.
    defineProperty(Error, key, { __proto__: null, configurable: true, enumerable: true, writable: true, value: values[key] });
  }
  let sites;
  try {
    sites = stack();
  } finally {
    for (const [key, property] of plain) {
      if (property) defineProperty(Error, key, { __proto__: null, ...property });
      else deleteProperty(Error, key);
    }
  }
  return sites.filter((site) => !site.getFileName()?.startsWith(folder));
};
