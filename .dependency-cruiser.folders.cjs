/** Folders have no cycles either. Tests are left out: one may use whatever it needs. */
const { options } = require('./.dependency-cruiser.cjs');

module.exports = {
  forbidden: [
    {
      name: 'no-folder-cycles',
      severity: 'error',
      scope: 'folder',
      from: { path: '^services/' },
      to: { circular: true },
    },
  ],
  options: { ...options, exclude: { path: '\\.test\\.ts$' } },
};
