import * as t from 'io-ts';
import { NoteText } from '#kit/contracts/plan.ts';
import { decode, optional } from '#kit/decode.ts';
import { CoreError, InvalidInput, messageOf } from '#kit/errors.ts';
import type { Route } from '#kit/http/route.ts';
import { ComparedText, secretsRefusedInUse, withoutSecrets } from '#kit/redaction/masked-text.ts';
import { repositoryNamed, repositoryRule } from '#kit/repository-name.ts';
import { formRoute, goTo, htmlReply, pageRoute } from './page.ts';
import { planPage } from './plan-page.ts';
import type { ReviewParts } from './review-parts.ts';

const PlanForm = t.strict({
  csrf: ComparedText,
  repository: withoutSecrets(t.string),
  number: optional(withoutSecrets(t.string)),
  task: optional(secretsRefusedInUse(t.string)),
  list: optional(t.literal('yes')),
});
type PlanForm = t.TypeOf<typeof PlanForm>;

const AgainForm = t.strict({ csrf: ComparedText, note: optional(secretsRefusedInUse(t.string)) });

const repositoryParameter = {
  repository: {
    description: 'Whose open issues are listed: owner/repo',
    schema: { type: 'string' },
  },
};

/** How a run begins: with an issue, or with words. */
export function planRoutes(parts: ReviewParts): Route[] {
  const page = planPage(parts);
  return [
    pageRoute(
      parts,
      { path: '/plan', summary: 'The form that plans an issue', query: repositoryParameter },
      async (visit) => {
        const { repository = '' } = visit.request.query;
        return htmlReply(await page(visit, { repository }, repository !== ''));
      },
    ),
    formRoute(
      parts,
      {
        path: '/runs/{run_id}/plan',
        summary: 'Plan the issue of a run again',
        scope: 'plan',
        body: AgainForm,
      },
      async ({ by, request: { params, body } }) => {
        const { request } = await parts.agent.run(params.run_id!);
        const { owner, repo, forge, number, task, role, planner, agent } = request;
        const note = (body.note ?? '').replaceAll('\r\n', '\n').trim();
        const subject =
          number === null
            ? { task: Buffer.from(await parts.agent.artifact(params.run_id!, task!.content)).toString() }
            : { number };
        const { run } = await parts.changes.plan({
          ...{ owner, repo, forge, role, planner: agent ?? planner, by },
          ...subject,
          ...(note === '' ? {} : { note: decode(NoteText, note, 'the note') }),
        });
        return goTo(`/runs/${run.run_id}`);
      },
    ),
    formRoute(
      parts,
      { path: '/plan', summary: 'Plan an issue', scope: 'plan', body: PlanForm },
      async (visit) => {
        const { body } = visit.request;
        if (body.list !== undefined)
          return goTo(`/plan?${new URLSearchParams({ repository: body.repository.trim() })}`);
        try {
          const { run } = await parts.changes.plan({ ...requestOf(body), by: visit.by });
          return goTo(`/runs/${run.run_id}`);
        } catch (error) {
          if (!(error instanceof CoreError) || error.status >= 500) throw error;
          // What was typed stays, to be corrected.
          const lists = ['issue_or_task', 'issue_not_found', 'issue_is_pull_request'].includes(error.code);
          return htmlReply(await page(visit, body, lists, messageOf(error)), error.status);
        }
      },
    ),
  ];
}

/** @throws InvalidInput (`invalid_input`, `issue_or_task`) */
function requestOf(body: PlanForm) {
  const named = repositoryNamed(body.repository.trim());
  if (named === null)
    throw new InvalidInput('invalid_input', `'${body.repository}' must be ${repositoryRule}`);
  return { ...named, ...subjectOf(body) };
}

function subjectOf({ number = '', task = '' }: PlanForm): { number: number } | { task: string } {
  const digits = number.trim().replace(/^#/, '');
  const words = task.replaceAll('\r\n', '\n').trim();
  if ((digits === '') === (words === ''))
    throw new InvalidInput(
      'issue_or_task',
      'a plan takes either the number of an issue or what is to be done',
    );
  if (words !== '') return { task: words };
  if (/^[1-9]\d{0,9}$/.test(digits)) return { number: Number(digits) };
  throw new InvalidInput('invalid_input', `'${number}' must be the number of an issue, for example 12`);
}
