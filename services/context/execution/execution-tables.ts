/**
 * The runs of core-agentd as they were told last, how each of their actions ended, and which memories were made of them: one
 * that was forgotten since does not come back when its run is told again.
 */
export const executionTables = `
  CREATE TABLE executions (
    run_id TEXT PRIMARY KEY,
    plan TEXT,
    plan_seq INTEGER NOT NULL DEFAULT -1,
    outcome TEXT,
    outcome_seq INTEGER NOT NULL DEFAULT -1
  ) STRICT;

  CREATE TABLE run_memories (
    run_id TEXT NOT NULL,
    key TEXT NOT NULL,
    PRIMARY KEY (run_id, key)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE action_cases (
    run_id TEXT NOT NULL,
    action_id TEXT NOT NULL,
    repository TEXT NOT NULL,
    role TEXT NOT NULL,
    kind TEXT NOT NULL,
    areas TEXT NOT NULL,
    outcome TEXT NOT NULL,
    went_well INTEGER NOT NULL,
    at TEXT NOT NULL,
    reason TEXT,
    PRIMARY KEY (run_id, action_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX action_cases_here ON action_cases (kind, repository, at);
  CREATE INDEX action_cases_anywhere ON action_cases (kind, at);
`;
