// Finds for Greenroom the function `require` of each module, which Node makes when it compiles the module. Node reads
// process.mainModule then, and sets `cache` of the function last.
'use strict';
const callers = require('./callers.cjs');

// Calls `made` with each such function, and `read` when anybody else reads process.mainModule. The result ends this.
module.exports = function watchRequires(made, read = () => undefined) {
  const plain = Object.getOwnPropertyDescriptor(process, 'mainModule');
  Object.defineProperty(process, 'mainModule', { configurable: true, enumerable: true, get() {
    if (callers()[0]?.getFunctionName() !== 'makeRequireFunction') {
      read();
    } else {
      Object.defineProperty(Function.prototype, 'cache', { configurable: true, set(value) {
        delete Function.prototype.cache;
        this.cache = value;
        made(this);
      } });
    }
    return plain?.value;
  }, set: () => read() });
  return () => {
    delete process.mainModule;
    if (plain) Object.defineProperty(process, 'mainModule', plain);
  };
};
