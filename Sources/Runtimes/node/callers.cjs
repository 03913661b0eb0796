// Finds out for Greenroom which code has called.
'use strict';
const folder = `${__dirname}/`;

// Returns the places of the code that has led to a call of this folder's files, the nearest first. What the program
// may have replaced is put back.
module.exports = function callers() {
  const plain = ['prepareStackTrace', 'stackTraceLimit'].map((key) => [key, Object.getOwnPropertyDescriptor(Error, key)]);
  Error.stackTraceLimit = 12;
  Error.prepareStackTrace = (_, sites) => sites;
  const sites = new Error().stack;
  for (const [key, property] of plain) {
    if (property) Object.defineProperty(Error, key, property);
    else delete Error[key];
  }
  return sites.filter((site) => !site.getFileName()?.startsWith(folder));
};
