import * as t from 'io-ts';
import { NonEmptyString, nullable, numberBetween, optional, stringThat, Timestamp } from '../../decode.ts';
import { withoutSecrets } from '../../redaction/masked-text.ts';

export const KeyId = stringThat('KeyId', 'the id of a key, for example key_0123456789abcdef', (text) =>
  /^key_[0-9a-f]{16}$/.test(text),
);

/** What calls of tokens cost stands under `token:NAME`, beside runs. */
const RunName = stringThat(
  'RunName',
  'the name of a run: letters, digits and . _ : -, at most 100, that does not begin with token:',
  (text) => /^(?!token:)[A-Za-z0-9][A-Za-z0-9._:-]{0,99}$/i.test(text),
);

const Budget = numberBetween(0.000_001, 1_000_000, 'US dollars above 0, at most 1000000', {
  description: 'US dollars',
});

/** `POST /v1/keys`: a key for one run. */
export const KeyRequest = t.strict({
  run: RunName,
  /** Names of models that it may ask; null or left out: all of them. */
  models: optional(nullable(t.array(withoutSecrets(NonEmptyString)))),
  /** US dollars for all calls of the run together, with earlier keys too; null or left out: no limit of its own. */
  budget: optional(nullable(Budget)),
  expires_at: Timestamp,
});
export type KeyRequest = t.TypeOf<typeof KeyRequest>;

/** What is known of a key without knowing it. */
export const RunKey = t.strict({
  id: KeyId,
  run: t.string,
  models: nullable(t.array(t.string)),
  budget: nullable(t.number),
  created_at: Timestamp,
  expires_at: Timestamp,
  revoked_at: nullable(Timestamp),
  /** US dollars of the whole run: of calls that ended, and set aside for calls under way. */
  used: t.number,
  reserved: t.number,
});
export type RunKey = t.TypeOf<typeof RunKey>;

/** The answer to `POST /v1/keys`: the only one that has the key itself. */
export const MintedKey = t.strict({ key: t.string, ...RunKey.type.props });
export type MintedKey = t.TypeOf<typeof MintedKey>;

/** `GET /v1/keys`: those in force. */
export const KeysReply = t.strict({ keys: t.array(RunKey) });
