/** What `./core --help` says: every command in the order in which a newcomer meets it. */
export const sections: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Begin: {
    quickstart: 'see the whole loop on a small repository of its own',
    doctor: 'what works on this machine, and how to get the rest',
    up: 'start the services; Ctrl-C ends them',
    status: 'how they are, and what to do; --smoke plans a demo issue through all of them',
  },
  Plan: {
    run: 'take an issue from plan to pull request, asking at each gate',
    plan: 'read an issue and propose actions; writes nothing to the repository',
    'plan-issue': 'the same, with --owner, --repo and --number',
    runs: 'list runs, newest first',
    show: 'one run: what became of it, and what to do next',
    actions: 'the proposed actions with their digests',
    diff: 'the change, exactly as it would be applied',
  },
  'Decide and execute': {
    inbox: 'what waits for you, or for whom',
    tui: 'read, approve, execute and undo on one screen',
    review: 'the same in the browser; prints a link that signs you in once',
    approve: 'approve actions by number, gate, or all',
    reject: 'reject actions, with a reason',
    'execute-approved': 'run the approved actions, exactly as previewed',
  },
  Recover: {
    resume: 'continue a run that a crash interrupted',
    sync: 'ask the forges about pull requests, and update the context service',
    undo: 'take back what a run did',
    cancel: 'stop a run',
    verify: 'check the record of a run offline',
    mirror: "this host's folder of a run, where a database has the runs",
    signatures: 'the signed decisions of a run, for whoever checks them without Core',
    attest: 'a signed statement of what was planned, approved, validated and published',
    recover: 'what the record of a run lost, and going on without it',
    'forget-prompts': 'delete what models were sent and answered for a run',
    prune: 'remove what old runs left on this disk',
    backup: 'all state in one file, also while it runs; backup verify checks one',
    restore: 'put a backup into empty folders',
    'storage migrate': 'move what files hold into a database, or back',
  },
  Know: {
    'context refresh': 'read repositories into the graph, only what changed',
    'context search': 'files, symbols, documents and runs that matter for a text',
    'context lookup': 'what is remembered; context remember adds to it',
    'context cypher': 'ask the graph; context --help lists the rest',
  },
  Connect: {
    'bridge events': 'events of dashboards and forges; bridge --help lists the rest',
    mcp: 'the tools of Core for another agent, on standard input and output',
    'bus functions': 'what can be called on the bus; bus --help lists the rest',
    'worker call': "call one of the platform's functions over the bus; worker functions lists them",
  },
  'Set up': {
    'model add': 'configure a model for the planner; model --help lists the rest',
    'agent add': 'configure a coding agent that plans; agent list and check say what works',
    'notify test': 'send a test to the people whom notifications.json names',
    forges: 'how each configured forge stands: answer, token, scopes',
    forge: 'the local forge: repositories, issues and pull requests in a folder',
    'config show': 'every setting and where its value comes from',
    token: 'make, list, rotate and revoke tokens of the HTTP API',
    session: 'who is signed in to the review page, and signing them out',
    'secrets init': 'make the secret files of the compose stack',
    install: 'put core and the services on your PATH',
    completion: 'make bash, zsh or fish complete commands, options and runs',
  },
};

export function overview(program: string): string {
  const lines = [
    'Turns an issue on a code forge into a pull request that a person approved action by action.',
    '',
    `Usage: ${program} <command> [options]`,
  ];
  for (const [title, commands] of Object.entries(sections)) {
    lines.push('', title);
    for (const [name, summary] of Object.entries(commands)) lines.push(`  ${name.padEnd(16)}  ${summary}`);
  }
  lines.push(
    '',
    'Options of every command',
    '  --home DIR        folder with state/ and config/',
    '  --json            results as JSON',
    '  --verbose         more of what happens, on standard error',
    '  --no-color        no colours (also NO_COLOR)',
    '  --ascii           no signs beyond ASCII (also a locale without UTF-8)',
    '',
    `More about one: ${program} help <command>`,
  );
  return `${lines.join('\n')}\n`;
}

/** Names of all commands, as `overview` lists them. */
export const commandNames: readonly string[] = Object.values(sections).flatMap((commands) =>
  Object.keys(commands).map((name) => name.split(' ')[0]!),
);
