import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import * as t from 'io-ts';
import { readConcernPart } from '#kit/config/concern.ts';
import { readStorageNote } from '#kit/config/storage-note.ts';
import { messageOf } from '#kit/errors.ts';
import { readTokenFile } from '#kit/tokens/token-files.ts';
import { openSecretFile } from '#kit/webhooks/secret-file.ts';
import { readRecord } from '../../services/agentd/forges/local/forge-folder.ts';
import { TokenFile } from '../../services/agentd/forges/token-file.ts';
import { isPlainRef } from '../../services/agentd/git/tree.ts';
import { readSecretLine } from '../../services/agentd/notifications/channels/address-file.ts';
import { readCredentials } from '../../services/agentd/planners/agent/credentials.ts';
import { readClientSecret } from '../../services/agentd/review/oidc/configuration.ts';
import { verifySignature } from '../../services/agentd/signatures/ssh-keygen.ts';
import { readKey } from '../../services/model-gateway/cli/key-file.ts';
import { credentialReader } from '../../services/model-gateway/providers/credential.ts';
import { readContainerUser } from '../../services/supervisor/secrets/owner.ts';

const signature = { namespace: 'core-approval', principal: 'mira', at: new Date() };
const learned = () => {};
/** A folder in the place of a ref holds other refs. */
const notRegular = Promise.reject(new Error('not_a_regular_file'));
notRegular.catch(() => {});

/** Each reads a file of this name in the folder. */
const readers: Readonly<
  Record<string, { readonly file: string; readonly read: (folder: string, path: string) => unknown }>
> = {
  'the configuration': {
    file: 'policy.json',
    read: (config) => readConcernPart(t.strict({}), 'policy', { config }),
  },
  'a token of Core': { file: 'token', read: (_, path) => readTokenFile(path) },
  'a token of a forge': { file: 'github', read: (_, path) => new TokenFile(path).read() },
  'a record of the local forge': { file: '1.json', read: (_, path) => readRecord(t.unknown, path) },
  'a secret for signatures': {
    file: 'webhook',
    read: (folder) => openSecretFile(folder, 'webhook', learned).read(),
  },
  'a secret of notifications': {
    file: 'chat',
    read: (_, path) => readSecretLine({ folders: {} as never, learned }, path, 'address'),
  },
  'the secret of sign-in': {
    file: 'oidc',
    read: (secrets) => readClientSecret({ client_secret_file: 'oidc' }, { secrets }),
  },
  'a credential of a model': {
    file: 'model',
    read: (folder) => credentialReader(folder, 'model', learned)(),
  },
  'the login of an agent': { file: 'login', read: (folder) => readCredentials(['~/login'], folder) },
  'a ref of a clone': { file: 'ref', read: (folder) => isPlainRef(folder, 'ref') || notRegular },
  'a key for the gateway': { file: 'key', read: (_, path) => readKey(path) },
  'the note of a move': { file: 'storage.json', read: (folder) => readStorageNote(folder) },
  'the settings of containers': { file: '.env', read: (folder) => readContainerUser(folder) },
  'the keys of approvers': {
    file: 'allowed_signers',
    read: (_, path) => verifySignature('text', 'signature', { ...signature, signersFile: path }),
  },
};

describe('What Core reads as a file', () => {
  let sources: string;
  let folder: string;
  let server: Server;

  before(async () => {
    sources = mkdtempSync(join(tmpdir(), 'core-irregular-'));
    execFileSync('mkfifo', ['-m', '600', join(sources, 'pipe')]);
    mkdirSync(join(sources, 'folder'));
    server = createServer();
    await new Promise<void>((listening) => server.listen(join(sources, 'socket'), listening));
    symlinkSync('/dev/zero', join(sources, 'device'));
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'core-irregular-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  after(() => {
    server.close();
    rmSync(sources, { recursive: true, force: true });
  });

  for (const [what, { file, read }] of Object.entries(readers)) {
    for (const kind of ['pipe', 'socket', 'folder', 'device']) {
      it(`refuses a ${kind} in place of ${what}, and says what it must be`, async () => {
        const path = join(folder, file);
        symlinkSync(join(sources, kind), path);
        const error = await Promise.resolve()
          .then(() => read(folder, path))
          .then(
            () => null,
            (thrown: unknown) => thrown,
          );
        expect(messageOf(error)).to.match(/regular file|not_a_regular_file|plain file|ordinary file/);
      });
    }
  }
});
