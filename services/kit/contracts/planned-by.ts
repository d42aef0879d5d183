/** What the roles of the shipped agents.json do, by the key that dashboards know them by. */
export const roleKeys: Readonly<Record<string, string>> = {
  Purveyour: 'architect',
  Depute: 'default',
  Assayour: 'review',
  Avisour: 'triage',
  Steward: 'ops',
  Baillif: 'executor',
  Factour: 'release',
};

/** For people: `role Depute (default)`. Not safe to print. */
export function roleText(role: string): string {
  const key = roleKeys[role];
  return key === undefined ? `role ${role}` : `role ${role} (${key})`;
}

/** For people: `planner patch`, `planner model`, or the name of an agent. Not safe to print. */
export function plannerText(planner: string, agent: string | null | undefined): string {
  return `planner ${agent ?? planner}`;
}
