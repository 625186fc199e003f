/** The part of autocannon that is used here; the package has no types. */
declare module 'autocannon' {
  interface Options {
    readonly url: string;
    readonly connections: number;
    readonly overallRate: number;
    readonly duration: number;
    readonly requests: readonly { readonly headers: Readonly<Record<string, string>> }[];
  }
  interface Runner {
    stop(): void;
  }
  interface Result {
    /** Requests without an answer: the connection failed, or the answer did not come within 10 s. */
    readonly errors: number;
    readonly timeouts: number;
  }
  function autocannon(options: Options, ended: (error: unknown, result: Result) => void): Runner;
  export = autocannon;
}
