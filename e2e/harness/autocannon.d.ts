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
  function autocannon(options: Options, ended: () => void): Runner;
  export = autocannon;
}
