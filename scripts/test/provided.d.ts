import 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    /** Whether the long variants of tests are wanted: more kills, more servers (`npm run test:long`). */
    long: boolean;
  }
}
