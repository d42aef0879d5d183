import { ChangedIssues, IssueList } from '#kit/contracts/issues.ts';
import { type Route, route } from '#kit/http/route.ts';
import type { CoreAgent } from '../core-agent.ts';
import { changeParameters, changeQuery, issueParameters, issueQuery, requireToken } from './query.ts';

/** They need a token always: the forges are asked with the credentials of this installation, and count how often. */
export function issueRoutes(agent: CoreAgent, signal: AbortSignal): Route[] {
  return [
    route(
      {
        method: 'GET',
        path: '/v1/issues',
        summary:
          'Issues of a repository as its forge has them, newest first, with the run that planned each. Needs a token always',
        scope: 'read',
        query: issueParameters,
        answers: { 200: { description: 'The issues', content: IssueList } },
      },
      async ({ query, identity }) => {
        requireToken(identity);
        const { issues, ...repository } = await agent.issues(issueQuery(query), signal);
        const json: IssueList = {
          ...repository,
          issues: issues.map(({ author, labels, body, locked, masked, ...issue }) => ({
            ...issue,
            author: author.login,
            labels: [...labels],
          })),
        };
        return { json };
      },
    ),
    route(
      {
        method: 'GET',
        path: '/v1/issues/changed',
        summary:
          'Issues that changed on their forge since a time, the one that changed first first. Needs a token always',
        scope: 'read',
        query: changeParameters,
        answers: { 200: { description: 'What changed', content: ChangedIssues } },
      },
      async ({ query, identity }) => {
        requireToken(identity);
        return { json: await agent.changedIssues(changeQuery(query), signal) };
      },
    ),
  ];
}
