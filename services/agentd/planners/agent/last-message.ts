import { oneLine } from '../../actions/published-texts.ts';

const maxTitleLength = 100;
const maxExplanationLength = 20_000;

/** Title and explanation of a change. */
export interface Explained {
  readonly title: string;
  /** Markdown. */
  readonly explanation: string;
}

/**
 * Reads them from the last message of an agent: first line and rest. A first line that is no title, and an agent that said nothing,
 * leave the title to the issue.
 */
export function explained(message: string, issueTitle: string, fallback: string): Explained {
  const text = message.trim();
  const [first = '', ...rest] = text.split('\n');
  const title = oneLine(first.replace(/^[#>*\s]+|[*_`\s]+$/g, ''));
  const body = rest.join('\n').trim();
  if (title !== '' && title.length <= maxTitleLength)
    return { title, explanation: bounded(body === '' ? title : body) };
  return { title: oneLine(issueTitle) || fallback, explanation: bounded(text === '' ? fallback : text) };
}

export function bounded(text: string): string {
  if (text.length <= maxExplanationLength) return text;
  return `${text.slice(0, maxExplanationLength).toWellFormed()}\n\n[cut: the message has ${text.length} characters]`;
}

/**
 * Keeps what the agent said since its last step, which is its answer when it ends. Where an agent names its messages, text without a name
 * is a notice of the program (of a model that it does not know, of a change of its prices) and no part of the answer.
 */
export class LastMessage {
  #text = '';
  #before = '';
  #named = false;

  said(text: string, message: string | null = null): void {
    if (message === null && this.#named) return;
    if (message !== null && !this.#named) {
      this.#named = true;
      this.#text = '';
      this.#before = '';
    }
    if (this.#text.length < 2 * maxExplanationLength) this.#text += text;
  }

  stepped(): void {
    if (this.#text.trim() !== '') this.#before = this.#text;
    this.#text = '';
  }

  get text(): string {
    return this.#text.trim() === '' ? this.#before : this.#text;
  }
}
