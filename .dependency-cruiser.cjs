/** The ports that change something. */
const writers = '^services/agentd/(ports/(forge-writer|vcs)|actions/executor)\\.ts$';
/** What core-agentd reaches outside of itself with: one folder for each port. */
const adapters = '^services/agentd/(forges|vcs|sandboxes|models|context)/';
/** The projection of core-context, copies of every file, and two files of this machine alone: cursors, and triggers of the bus. */
const ownFiles = [
  '^services/context/',
  '^services/supervisor/backup/',
  '^services/agentd/outbox/context-outbox\\.ts$',
  '^services/bus-engine/cron/binding-store\\.ts$',
];

/** Import rules: imports point inward, services meet on the wire, no cycles. */
module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'services-share-only-the-kit',
      comment: 'Services never import each other; they meet on the wire.',
      severity: 'error',
      from: { path: '^services/([^/]+)/', pathNot: '^services/kit/' },
      to: { path: '^services/', pathNot: '^services/(kit|$1)/' },
    },
    { name: 'kit-stands-alone', severity: 'error', from: { path: '^services/kit/' }, to: { path: '^services/(?!kit/)' } },
    {
      name: 'planning-cannot-write',
      comment: 'Planning is read-only by construction: it never sees a writer.',
      severity: 'error',
      from: { path: '^services/agentd/(planning|planners)/', pathNot: '\\.test\\.ts$' },
      to: { path: `^services/agentd/(execution|cli|http)/|${writers}|${adapters}` },
    },
    {
      name: 'actions-are-given-their-writers',
      comment: 'Planning uses the kinds of action too, so they know what writes by its type alone.',
      severity: 'error',
      from: { path: '^services/agentd/actions/', pathNot: '\\.test\\.ts$' },
      to: {
        path: '^services/agentd/',
        pathNot: '^services/agentd/(actions/|approval/|action\\.ts$|policy\\.ts$|validation/(base-comparison|coverage|live-lines)\\.ts$)',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'adapters-stay-outside',
      comment: 'Only the composition root names adapters.',
      severity: 'error',
      from: { path: '^services/agentd/[^/]+/', pathNot: `${adapters}|\\.test\\.ts$` },
      to: { path: adapters },
    },
    {
      name: 'record-imports-nothing-above',
      comment: 'The record knows nothing of the domains that keep something in it.',
      severity: 'error',
      from: { path: '^services/context/record/', pathNot: '\\.test\\.ts$' },
      to: { path: '^services/context/(?!record/)' },
    },
    {
      name: 'databases-behind-one-class',
      comment: 'Tables are reached through kit/database, on both engines; the others are files of SQLite that are no tables of a service.',
      severity: 'error',
      from: { path: '^services/', pathNot: ['^services/kit/(database|storage)/', '\\.test\\.ts$', ...ownFiles] },
      to: { path: '^(node:sqlite|sqlite)$|node_modules/pg' },
    },
    {
      name: 'fp-ts-stays-inside-io-ts',
      severity: 'error',
      from: { path: '^(services|test)/' },
      to: { path: 'node_modules/fp-ts' },
    },
    { name: 'no-tests-in-production', severity: 'error', from: { pathNot: '(\\.test\\.ts$|^(test|site)/)' }, to: { path: '(\\.test\\.ts$|^test/)' } },
    {
      name: 'no-unresolved',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: { extensions: ['.ts', '.js', '.json'], exportsFields: ['exports'], conditionNames: ['import', 'require', 'node', 'default'] },
  },
};
