import { bandsOf, signatureOfTrigrams } from './minhash.ts';
import { comparedText, distinguishingMarks, normalised } from './normalise.ts';
import { factOf, isTurn, type Remembered } from './remembered.ts';

export type SignedText = Pick<
  Remembered,
  'layer' | 'session' | 'kind' | 'subject' | 'predicate' | 'about' | 'content' | 'steps'
>;

/** Where a memory meets those that say the same, within its layer and what it is about; null for facts and turns, which meet otherwise. */
export function bandsOfText(signed: SignedText): readonly number[] | null {
  if (isTurn(signed) || factOf(signed) !== null) return null;
  const { layer, about, content, steps } = signed;
  const text = comparedText(content, steps);
  const scope = [layer, ...about, '', distinguishingMarks(text)].join('\n');
  return bandsOf(signatureOfTrigrams(normalised(text)), scope);
}
