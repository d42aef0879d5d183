/** What `ws` uses of Node's `https` and `tls`, each loaded when it is called. Plain JavaScript, because `ws` asks with `require`. */
exports.request = (...given) => process.getBuiltinModule('node:https').request(...given);
exports.connect = (...given) => process.getBuiltinModule('node:tls').connect(...given);
