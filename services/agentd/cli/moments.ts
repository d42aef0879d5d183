export { age, duration, limit, until } from '#kit/cli/moments.ts';
