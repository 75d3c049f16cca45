/** Go to another run's page. */
export function visit({ id }) {
  location.assign(`../${id}/`);
}
