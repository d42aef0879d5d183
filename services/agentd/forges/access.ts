import type { Access } from '../ports/forge.ts';

export const mayPublish: Access = { push: true, pull_request: true, reason: '' };

export function mayNotPush(reason: string): Access {
  return { push: false, pull_request: false, reason };
}

export function accessUnknown(reason: string): Access {
  return { push: null, pull_request: null, reason };
}

export const archived = mayNotPush('the repository is archived, and takes no pushes');

export function withoutToken(forge: string, path: string | null): Access {
  const remedy =
    path === null ? 'name a token_file for it in config/forges.json' : `write an access token into ${path}`;
  return mayNotPush(`forge '${forge}' has no token; ${remedy}`);
}

export function accountMayNot(path: string | null): Access {
  return mayNotPush(`the account of the token in ${path} may not write there`);
}
