import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { InvalidInput, messageOf, Unauthorized } from '#kit/errors.ts';

/** A forge's access token, read from its file each time it is used, so that a new token needs no restart. */
export class TokenFile {
  readonly path: string | null;

  constructor(path: string | null) {
    this.path = path;
  }

  exists(): boolean {
    return this.path !== null && existsSync(this.path);
  }

  /** @throws Unauthorized `forge_unauthorized`, which says where a token belongs */
  async need(forge: string): Promise<string> {
    const token = await this.read();
    if (token !== null) return token;
    throw new Unauthorized('forge_unauthorized', `forge '${forge}' needs a token for this`, {
      hint:
        this.path === null
          ? 'name a token_file for it in config/forges.json'
          : `write an access token into ${this.path}`,
    });
  }

  /** null when no file is configured or it is not there: the forge then answers as to a stranger. */
  async read(): Promise<string | null> {
    if (this.path === null) return null;
    let text: string;
    try {
      text = await readFile(this.path, 'utf8');
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null;
      throw new Unauthorized(
        'forge_token_unreadable',
        `token file '${this.path}' cannot be read: ${messageOf(cause)}`,
        { cause },
      );
    }
    const token = text.trim();
    if (/^[\x21-\x7e]{1,4096}$/.test(token)) return token;
    throw new InvalidInput(
      'forge_token_invalid',
      `token file '${this.path}' must hold one token and nothing else; it is empty or has spaces or line breaks inside`,
    );
  }
}
