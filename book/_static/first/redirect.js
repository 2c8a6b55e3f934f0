/* A page under its former address: go to the page, with the search term and the state. */
location.replace(
  document.querySelector("link[rel=canonical]").href + location.search + location.hash,
);
