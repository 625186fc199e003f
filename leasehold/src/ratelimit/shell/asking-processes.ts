/**
 * The connection over which each process asks, for the answers. A process is forgotten with its connection, so there are never more
 * entries than connections; a process that has connected anew is answered over the new connection.
 */
export class AskingProcesses {
  readonly #connections = new Map<string, string>();

  get size(): number {
    return this.#connections.size;
  }

  connectionOf(process: string): string | undefined {
    return this.#connections.get(process);
  }

  asked(process: string, connection: string): void {
    this.#connections.set(process, connection);
  }

  disconnected(process: string, connection: string): void {
    if (this.#connections.get(process) === connection) this.#connections.delete(process);
  }
}
