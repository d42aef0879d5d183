import * as t from 'io-ts';
import { NoteText } from '#kit/contracts/plan.ts';
import { decode, optional } from '#kit/decode.ts';
import { InvalidInput } from '#kit/errors.ts';
import type { Route } from '#kit/http/route.ts';
import { repositoryNamed, repositoryRule } from '#kit/repository-name.ts';
import { csrfField } from './csrf.ts';
import { type Html, html } from './html.ts';
import { layout } from './layout.ts';
import { formRoute, goTo, htmlReply, pageRoute, type Visit } from './page.ts';
import type { ReviewParts } from './review-parts.ts';

const PlanForm = t.strict({
  csrf: t.string,
  repository: t.string,
  number: optional(t.string),
  task: optional(t.string),
});

const AgainForm = t.strict({ csrf: t.string, note: optional(t.string) });

/** How a run begins: with the number of an issue, or with words. */
export function planRoutes(parts: ReviewParts): Route[] {
  return [
    pageRoute(parts, { path: '/plan', summary: 'The form that plans an issue' }, async (visit) =>
      htmlReply(planPage(visit)),
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
      async ({ by, request: { body } }) => {
        const named = repositoryNamed(body.repository.trim());
        if (named === null)
          throw new InvalidInput('invalid_input', `'${body.repository}' must be ${repositoryRule}`);
        const subject = subjectOf(body);
        const { run } = await parts.changes.plan({ ...named, ...subject, by });
        return goTo(`/runs/${run.run_id}`);
      },
    ),
  ];
}

function subjectOf({
  number = '',
  task = '',
}: t.TypeOf<typeof PlanForm>): { number: number } | { task: string } {
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

function planPage(visit: Visit): Html {
  return layout(visit, {
    title: 'Plan an issue',
    kind: 'other',
    body: html`<div class="narrow"><nav class="crumbs" aria-label="Place"><a href="/" data-back>Runs</a> <span aria-hidden="true">/</span> Plan</nav>
<h1>Plan an issue</h1>
<p>Planning reads the issue and proposes actions. It writes nothing to the repository; you decide about each action afterwards.</p>
<form method="post" action="/plan" class="stack">${csrfField(visit.csrf)}
<label for="repository">Repository</label><input id="repository" name="repository" placeholder="owner/repo" required autofocus autocomplete="off">
<label for="number">Number of the issue</label><input id="number" name="number" inputmode="numeric" autocomplete="off">
<label for="task">Or, without an issue: what is to be done</label><textarea id="task" name="task" rows="4"></textarea>
<button class="primary">Plan</button></form></div>`,
  });
}
