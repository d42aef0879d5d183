import type { MemoryLine } from '#kit/contracts/context/memory.ts';
import { InvalidInput } from '#kit/errors.ts';
import { masked, maskedName } from './mask-secrets.ts';

/**
 * A line of an import as it is kept: secrets are masked, as in what is recorded.
 * @throws InvalidInput for a secret in what stands for something: its session, a key
 */
export function maskedLine(line: MemoryLine): MemoryLine {
  const names = [
    ['/session', line.session],
    ...line.sightings.map(({ key }, nth) => [`/sightings/${nth}/key`, key] as const),
  ] as const;
  for (const [pointer, name] of names) {
    if (name !== null && masked(name).count > 0)
      throw new InvalidInput(
        'invalid_input',
        `it: ${pointer} is "${masked(name).text}": must hold no secret: it stands for what it names`,
      );
  }
  return {
    ...line,
    content: masked(line.content).text,
    steps: line.steps.map((step) => masked(step).text),
    kind: masked(line.kind).text,
    source: maskedName(line.source).text,
    subject: maskedName(line.subject).text,
    predicate: maskedName(line.predicate).text,
    speaker: maskedName(line.speaker).text,
    sightings: line.sightings.map((one) => ({ ...one, source: maskedName(one.source).text })),
  };
}
