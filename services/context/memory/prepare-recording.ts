import { uuidv7 } from 'uuidv7';
import type { RecordRequest } from '#kit/contracts/context/memory.ts';
import { digestOf } from '#kit/digest.ts';
import { type FieldError, InvalidInput } from '#kit/errors.ts';
import { masked, maskedName } from './mask-secrets.ts';
import type { Remembered } from './memory-row.ts';

/** A decoded request whose members fit together, in one form: no member is missing, times are in UTC, secrets are masked, in names too. */
export type Recording = Omit<Remembered, 'id' | 'recorded_at' | 'valid_from' | 'stated_to'> & {
  readonly valid_from: string | null;
  readonly valid_to: string | null;
};

export interface PreparedRecording {
  /** Of the memory, if it is a new one: the same where a journal is replayed. */
  readonly id: string;
  readonly recorded_at: string;
  readonly recording: Recording;
  readonly key: string | null;
  readonly digest: string;
  /** How many secrets were masked. */
  readonly masked: number;
}

/** @throws InvalidInput with a pointer to each member that does not fit the others */
export function prepareRecording(request: RecordRequest): PreparedRecording {
  const broken = contradictions(request);
  if (broken.length > 0) {
    const [first] = broken;
    throw new InvalidInput('invalid_input', `the memory: ${first!.pointer} ${first!.detail}`, {
      errors: broken,
    });
  }
  const content = masked(request.content);
  const steps = (request.steps ?? []).map(masked);
  const { kind, source, subject, predicate, speaker } = request;
  const names = {
    kind: maskedName(kind),
    source: maskedName(source),
    subject: maskedName(subject),
    predicate: maskedName(predicate),
    speaker: maskedName(speaker),
  };
  const recording: Recording = {
    layer: request.layer,
    content: content.text,
    kind: names.kind.text ?? request.layer,
    about: [...new Set(request.about ?? [])].sort(),
    source: names.source.text,
    subject: names.subject.text,
    predicate: names.predicate.text,
    valid_from: utc(request.valid_from),
    valid_to: utc(request.valid_to),
    confidence: request.confidence ?? null,
    session: request.session ?? null,
    seq: request.seq ?? null,
    speaker: names.speaker.text,
    at: utc(request.at),
    steps: steps.map(({ text }) => text),
  };
  return {
    id: `memory:${uuidv7()}`,
    recorded_at: new Date().toISOString(),
    recording,
    key: request.key ?? null,
    digest: digestOf(recording),
    masked: [content, ...steps, ...Object.values(names)].reduce((sum, { count }) => sum + count, 0),
  };
}

export function utc(time: string | null | undefined): string | null {
  return time === null || time === undefined ? null : new Date(time).toISOString();
}

function contradictions(request: RecordRequest): FieldError[] {
  const { layer, subject, predicate, session, seq, steps, valid_from, valid_to, at, key } = request;
  const broken: FieldError[] = [];
  const refuse = (pointer: string, value: unknown, rule: string) => {
    const shown = masked(JSON.stringify(value)).text;
    broken.push({ pointer, detail: `is ${shown}: ${rule}` });
  };
  // Masked, two of them would become one.
  for (const [name, value] of Object.entries({ key, session })) {
    if (value != null && masked(value).text !== value)
      refuse(`/${name}`, value, 'must hold no secret: it stands for what it names');
  }
  if (predicate != null && subject == null)
    refuse('/predicate', predicate, 'must come with a subject: a fact says what of whom');
  if (seq != null && (session == null || layer !== 'episodic'))
    refuse('/seq', seq, 'must come with a session, in the layer episodic: it is a place in its order');
  if (steps != null && steps.length > 0 && layer !== 'procedural')
    refuse('/steps', steps.length, `must be left out in the layer ${layer}; only procedural has steps`);
  const from = valid_from ?? (layer === 'episodic' ? at : null);
  if (valid_to != null && from != null && Date.parse(valid_to) <= Date.parse(from))
    refuse('/valid_to', valid_to, `must be later than the beginning, ${from}`);
  return broken;
}
