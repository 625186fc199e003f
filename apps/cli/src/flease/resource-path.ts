/** The path of something about a resource. */
export const resourcePath = (path: string, resource: string): string =>
  `${path}?resource=${encodeURIComponent(resource)}`;
