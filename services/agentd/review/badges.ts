import { age } from '#kit/cli/moments.ts';
import type { JudgedAction, RunStatus } from '../runs/run.ts';
import { isUnread, needsDecision } from '../runs/what-is-open.ts';
import { type Html, html, nothing } from './html.ts';

/** How statuses, risks and states look: always a word, the colour only helps. */

type Tone = 'good' | 'warn' | 'bad' | 'live' | 'dim';

const statusTones: Readonly<Record<RunStatus, Tone>> = {
  planning: 'live',
  awaiting_approval: 'warn',
  executing: 'live',
  completed: 'good',
  partially_completed: 'warn',
  interrupted: 'warn',
  failed: 'bad',
  rejected: 'dim',
  undone: 'dim',
  cancelled: 'dim',
  superseded: 'dim',
};

export function badge(tone: Tone, text: string): Html {
  return html`<span class="badge ${tone}">${text}</span>`;
}

export function statusWord(status: string): string {
  return status.replaceAll('_', ' ');
}

export function statusBadge(status: RunStatus): Html {
  return badge(statusTones[status], statusWord(status));
}

const riskTones: Readonly<Record<string, Tone>> = {
  low: 'good',
  medium: 'warn',
  high: 'bad',
  critical: 'bad',
};

export function riskBadge(risk: string | null, score?: number): Html {
  if (risk === null) return nothing;
  return html`<span class="risk ${riskTones[risk] ?? 'bad'}">${risk}${score === undefined ? '' : html` <span class="score">${score}</span>`}<span class="visually-hidden"> risk</span></span>`;
}

/** Where an action stands, in one word. */
export function standing(action: JudgedAction, now = new Date()): Html {
  const { state, approval, outcome } = action;
  switch (state) {
    case 'succeeded':
      return badge('good', 'done');
    case 'running':
      return badge('live', 'running');
    case 'failed':
      return badge('bad', 'failed');
    case 'unknown':
      return badge('warn', 'outcome unknown');
    case 'undone':
      return badge('dim', 'undone');
    case 'pending':
    case 'refused':
    case 'blocked':
      if (approval === 'rejected') return badge('bad', 'rejected');
      if (approval === 'required') return badge('warn', 'waits for approval');
      if (needsDecision(action, now)) return badge('warn', 'approval lapsed');
      if (isUnread(action)) return badge('warn', 'approval unknown');
      if (state !== 'pending' && outcome?.code !== 'approval_required') return badge('warn', state);
      return badge('good', 'approved');
  }
}

/** A moment as people say it, with the exact time for who asks. */
export function moment(at: string, now: Date = new Date()): Html {
  return html`<time datetime="${at}" title="${at.slice(0, 19).replace('T', ' ')} UTC">${age(at, now)}</time>`;
}

export function moments(at: string): string {
  return `${at.slice(0, 16).replace('T', ' ')} UTC`;
}
