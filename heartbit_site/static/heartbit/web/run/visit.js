/** Go to another run's page. */
export function visit({ run }) {
  location.assign(`../${run}/`);
}
