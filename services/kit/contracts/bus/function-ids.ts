/** The functions that core-bus-worker registers. */
export const functionIds = {
  health: 'core.agent.health',
  search: 'core.graph.search',
  lookup: 'core.graph.memory_lookup',
  cypher: 'core.graph.cypher',
  agentMap: 'core.dashboard.agent_map',
  planIssue: 'core.agent.plan_issue',
} as const;
