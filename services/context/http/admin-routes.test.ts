import { expect } from 'chai';
import type { InvalidInput } from '#kit/errors.ts';
import type { RouteRequest } from '#kit/http/route.ts';
import { type AdminParts, adminRoutes } from './admin-routes.ts';

describe('The refresh that people ask for', () => {
  const asked: unknown[] = [];
  const parts = {
    jobs: {
      refresh: async (request: unknown) => {
        asked.push(request);
        return { id: 'refresh_1', state: 'done' };
      },
    },
    ingestion: { known: async () => [] },
    check: () => Promise.reject(new Error('not asked for')),
    nameOf: async () => null,
    mirrorOf: (repository: string) => `/state/mirrors/${repository}.git`,
  } as unknown as AdminParts;
  const refresh = adminRoutes(parts).find(
    ({ method, path }) => method === 'POST' && path.endsWith('/refresh'),
  )!;
  const ask = (body: object, scopes = ['admin']) =>
    refresh.handle({ body, identity: { name: 'mira', scopes } } as unknown as RouteRequest);

  beforeEach(() => {
    asked.length = 0;
  });

  it('is refused where it would rebuild single repositories', async () => {
    for (const repositories of [['demo/hello'], []]) {
      const error = (await ask({ rebuild: true, repositories }).catch((thrown) => thrown)) as InvalidInput;
      expect(error).to.include({ code: 'invalid_input', status: 400 });
      expect(error.errors).to.have.length(1);
      expect(error.errors[0]!.pointer).to.equal('/repositories');
      expect(error.message).to.contain(JSON.stringify(repositories)).and.to.contain('must be left out');
    }
    expect(asked).to.deep.equal([]);
  });

  it('lets planning name its own clone of a repository, and no other path', async () => {
    const of = (name: string, path: string) => ask({ repositories: [{ name, path }] }, ['plan']);
    await of('forge/demo/hello', '/state/mirrors/forge/demo/hello.git');
    expect(asked).to.have.length(1);
    for (const path of [
      '/state/mirrors/forge/demo/other.git',
      '/etc',
      '/state/mirrors/forge/demo/hello.git/',
    ])
      expect(await of('forge/demo/hello', path).catch((error) => error)).to.include({
        code: 'scope_missing',
      });
    const bare = ask({ repositories: ['/state/mirrors/forge/demo/hello.git'] }, ['plan']);
    expect(await bare.catch((error) => error)).to.include({ code: 'scope_missing' });
    expect(asked).to.have.length(1);
  });

  it('rebuilds all, and reads single repositories', async () => {
    await ask({ rebuild: true });
    await ask({ rebuild: true, full: true });
    await ask({ rebuild: false, repositories: ['demo/hello'] });
    expect(asked).to.have.length(3);
  });
});
