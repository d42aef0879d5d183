import { countsText, rejectedText } from '#kit/contracts/action.ts';
import { shownPath } from '#kit/diff/line-text.ts';
import type { FileChange } from '../action.ts';
import { mustBeDelivered } from '../actions/commit.ts';
import type { ActionDefinition } from '../actions/registry.ts';
import { type ActionState, isOpen, type Run, rejectedBelow } from '../runs/run.ts';
import { agreementOf } from './agreement.ts';
import { badge, riskBadge, standing } from './badges.ts';
import { decisionForms } from './decisions.ts';
import { type Html, html, nothing } from './html.ts';
import { outcomeOf } from './outcome.ts';
import type { SigningTerms } from './signing.ts';
import { plainLine, shownLine, shownText } from './visible-text.ts';

/** One action as it is read before it is approved: everything that the approval covers, and what came of it. */

export interface ActionLook {
  readonly run: Run;
  readonly csrf: string;
  /** Who looks, and whether their scopes allow a decision. */
  readonly who: string;
  readonly mayApprove: boolean;
  readonly signing: SigningTerms;
  /** Why nothing of the run is decided any more; null while something may be. */
  readonly over: string | null;
  /** The patch of the run, for the action that applies it. */
  readonly change: Html;
  /** Report of the validation, for the action that runs it. */
  readonly validation: Html;
  /** Names of the working copies here that the commit can be delivered to. */
  readonly checkouts: readonly string[];
}

export function actionArticle(action: ActionState, look: ActionLook): Html {
  const { definition } = action;
  const { action_id, ordinal, kind, risk, risk_score } = definition;
  const open = isOpen(action) && look.over === null;
  const rejected = open && action.approval !== 'rejected' ? rejectedBelow(action, look.run.actions) : null;
  return html`<article class="action" id="${action_id}" data-action tabindex="-1" aria-labelledby="${action_id}-title">
<header>
  <h3 id="${action_id}-title"><span class="ordinal">${ordinal}</span> <code>${kind}</code></h3>
  <span class="grow"></span>
  ${riskBadge(risk, risk_score)}
  ${rejected === null ? standing(action) : badge('dim', 'cannot run')}
</header>
<p class="title">${shownLine(definition.title)}</p>
${reasons(definition)}
${rejectedBefore(definition)}
${definition.dry_run ? html`<p>${badge('live', 'dry run')} Every check runs, no effect happens.</p>` : nothing}
${outcomeOf(action)}
${kind === 'run_validation' ? look.validation : nothing}
<h4>${isOpen(action) ? 'What would happen' : 'What was approved'}</h4>
${params(action)}
${kind === 'apply_patch' ? look.change : nothing}
${facts(action, look)}
${rejected === null ? nothing : html`<p class="faint">It builds on <a href="#${rejected.definition.action_id}">${nameOf(rejected)}</a>, which was rejected, so that it cannot run any more.</p>`}
${open ? decisionForms(action, { ...look, canRun: rejected === null }) : nothing}
</article>`;
}

function reasons({ risk_reasons }: ActionDefinition): Html {
  if (risk_reasons.length === 0) return nothing;
  return html`<ul class="reasons">${risk_reasons.map((reason) => html`<li>${shownLine(reason)}</li>`)}</ul>`;
}

function rejectedBefore({ rejected_before = [] }: ActionDefinition): Html {
  if (rejected_before.length === 0) return nothing;
  return html`${rejected_before.map((one) => html`<p class="notice warn">${shownLine(rejectedText(one))}</p>`)}`;
}

function facts(action: ActionState, { run, checkouts }: ActionLook): Html {
  const { definition } = action;
  const { rationale, depends_on, target, digest, history } = definition;
  const needs = run.actions.filter((other) => depends_on.includes(other.definition.action_id)).map(nameOf);
  const before = history == null ? '' : countsText(history);
  const rows: readonly (readonly [string, Html])[] = [
    ['why', shownLine(rationale)],
    [
      'acts on',
      html`${shownLine(`${target.forge} ${target.owner}/${target.repo}`)}, base ${shownLine(target.base_branch)} @ <code>${target.base_commit.slice(0, 12)}</code>`,
    ],
    ...(definition.kind === 'commit' && isOpen(action)
      ? [['delivered to', deliveredTo(checkouts, mustBeDelivered(definition))] as const]
      : []),
    ...(needs.length === 0 ? [] : [['depends on', html`${needs.join(', ')}`] as const]),
    ...(before === '' ? [] : [['before', html`like actions: ${before}`] as const]),
    ['approval', agreementOf(action)],
    ['digest', html`<code class="digest">sha256 ${digest}</code>`],
  ];
  return html`<dl class="facts">${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>
${origins(definition)}`;
}

function deliveredTo(checkouts: readonly string[], must: boolean): Html {
  if (must) {
    return checkouts.length === 0
      ? html`a working copy, as an older version of Core planned it, and core-agentd has none of this repository here: its execution is refused, until one is named or the issue is planned again`
      : html`a working copy, chosen when it is executed: ${plainLine(checkouts.join(', '))}`;
  }
  return checkouts.length === 0
    ? html`no working copy: core-agentd has none of this repository here, and the branch reaches the forge alone`
    : html`a working copy, chosen when it is executed: ${plainLine(checkouts.join(', '))}, or none`;
}

function origins({ influences }: ActionDefinition): Html {
  if (influences.length === 0) return nothing;
  const outside = influences.filter(({ trusted }) => !trusted).length;
  return html`<details class="origins"><summary>${influences.length} source${influences.length === 1 ? '' : 's'} led to it${outside === 0 ? nothing : html`, <span class="untrusted-word">${outside} untrusted</span>`}</summary>
<ul>${influences.map(
    ({ kind, source, author, trusted }) =>
      html`<li>${kind} ${shownLine(source)}${author === null || source.includes(author) ? nothing : html` by ${shownLine(author)}`}${trusted ? nothing : html` ${badge('warn', 'untrusted')}`}</li>`,
  )}</ul></details>`;
}

function params({ definition: { params: values }, intent }: ActionState): Html {
  const texts: [string, string][] = [];
  const rows: [string, Html][] = [];
  for (const [name, value] of members(values)) {
    if (name === 'files' && Array.isArray(value)) rows.push([name, fileList(value as FileChange[])]);
    else if (name === 'plan') rows.push(...planRows(value as Readonly<Record<string, unknown>>));
    else if (typeof value === 'string' && (value.includes('\n') || name === 'body'))
      texts.push([name, value]);
    else rows.push([name, shownLine(oneLine(value))]);
  }
  return html`<dl class="facts params">${rows.map(
    ([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`,
  )}</dl>
${texts.map(([name, text]) => {
  const sent = intent?.rendered[name];
  return typeof sent === 'string'
    ? html`<h5>${name}, as it was sent</h5><pre class="text" tabindex="0">${shownText(sent.replace(/\n$/, ''))}</pre>`
    : html`<h5>${name}, as it will stand</h5><pre class="text" tabindex="0">${withSlots(text)}</pre>`;
})}`;
}

export function nameOf({ definition: { ordinal, kind } }: ActionState): string {
  return `${ordinal} ${kind}`;
}

/** Everything of a validation is covered by the digest: what has no words of its own stands as it is. */
function planRows(plan: Readonly<Record<string, unknown>>): [string, Html][] {
  return members(plan).map(([name, value]) => {
    if (!Array.isArray(value) || !value.every(isCommand)) return [name, shownLine(oneLine(value))];
    if (value.length === 0) return [name, html`none`];
    return [
      name,
      html`${value.map(({ name, run }) => html`<div><code>${shownLine(run)}</code> <span class="faint">${shownLine(name)}</span></div>`)}`,
    ];
  });
}

function isCommand(value: unknown): value is { readonly name: string; readonly run: string } {
  return typeof value === 'object' && value !== null && 'run' in value && 'name' in value;
}

/** Members with a value; an optional one that is left out is nothing of the action. */
function members(values: object): [string, unknown][] {
  return Object.entries(values).filter(([, value]) => value !== undefined);
}

function oneLine(value: unknown): string {
  if (typeof value === 'string') return value === '' ? 'empty' : value;
  if (value === null) return 'none';
  if (Array.isArray(value))
    return value.length === 0 ? 'none' : value.map(oneLine).join(value.some(isPlainObject) ? '; ' : ', ');
  if (!isPlainObject(value)) return JSON.stringify(value);
  const pairs = members(value).map(([name, one]) => `${name} ${oneLine(one)}`);
  return pairs.length === 0 ? 'none' : pairs.join(', ');
}

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fileList(files: readonly FileChange[]): Html {
  return html`<ul class="files">${files.map(
    ({ path, old_path, status, added, removed, old_mode, new_mode }) => {
      const mode = old_mode !== null && new_mode !== null && old_mode !== new_mode;
      return html`<li><span class="faint">${status.replace('_', ' ')}</span> <code>${shownPath(path)}</code>${old_path === null ? nothing : html` <span class="faint">from</span> <code>${shownPath(old_path)}</code>`} ${
        added === null
          ? html`<span class="faint">binary</span>`
          : html`<span class="added">+${added}</span> <span class="removed">−${removed}</span>`
      }${mode ? html` ${badge('warn', `mode ${old_mode} to ${new_mode}`)}` : nothing}</li>`;
    },
  )}</ul>`;
}

/** What will be filled in when it is sent stands out. */
function withSlots(text: string): Html {
  return html`${text
    .replace(/\n$/, '')
    .split(/(\{\{[a-z_]+\}\})/)
    .map((part) => (part.startsWith('{{') ? html`<span class="slot">${part}</span>` : shownText(part)))}`;
}
