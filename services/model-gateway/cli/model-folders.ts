import { resolve } from 'node:path';
import { type Environment, environment } from '#kit/environment.ts';
import { type Folders, resolveFolders } from '#kit/folders.ts';

/** The folders of an installation, with the keys of models where only the gateway sees them, as in the tools container. */
export function modelFolders(home: string | undefined, variables: Environment = environment): Folders {
  const folders = resolveFolders({ home }, variables);
  const secrets = variables.CORE_MODEL_SECRETS_DIR;
  return home === undefined && secrets ? { ...folders, secrets: resolve(secrets) } : folders;
}
