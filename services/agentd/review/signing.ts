import { shellWord } from '#kit/shell-word.ts';
import type { ActionState, Run } from '../runs/run.ts';
import { type Html, html } from './html.ts';

/**
 * Where an approval must be signed, the page shows what to type instead of a button: a browser has no SSH key, and one that had it would
 * let every page of this host sign.
 */

export interface SigningTerms {
  /** Whether policy.json asks that every approval is signed. */
  readonly isRequired: boolean;
  /** What `--home` of the command must be; undefined where none is needed. */
  readonly home: string | undefined;
}

/** Whether an approval of these is of use only with a signature. */
export function mustBeSigned(actions: readonly ActionState[], { isRequired }: SigningTerms): boolean {
  return isRequired || actions.some(({ terms }) => terms?.rules.some((rule) => rule.require_signature));
}

/** The command that approves these actions, as they are on the page, with a signature. */
export function signingCommand(run: Run, actions: readonly ActionState[], { home }: SigningTerms): string {
  const definitions = actions.map(({ definition }) => definition);
  const words = [
    ...['./core', 'approve', '--sign', '--run-id', run.run_id],
    ...definitions.map(({ action_id }) => action_id),
    ...definitions.flatMap(({ digest }) => ['--digest', digest]),
    ...(home === undefined ? [] : ['--home', home]),
  ];
  return words.map(shellWord).join(' ');
}

/** @param what is approved, for people */
export function signingBlock(
  id: string,
  what: string,
  run: Run,
  actions: readonly ActionState[],
  terms: SigningTerms,
): Html {
  return html`<div class="signing" id="${id}" data-sign>
<p>An approval of ${what} must be signed with your SSH key. Type in a terminal:</p>
<pre class="command" tabindex="0" aria-label="Command that signs an approval of ${what}">${signingCommand(run, actions, terms)}</pre>
<p><button type="button" data-copy>Copy<span class="visually-hidden"> the command for ${what}</span></button> <span class="faint">This page shows the approval once it has arrived. The key is <code>signing.key</code> of core.json or git’s <code>user.signingkey</code>; <code>--key FILE</code> names another. Containers hold no key: there, and from another machine, type it where your key is and add <code>--as NAME</code>, with the name of your token, which prints the request to send.</span></p>
</div>`;
}
