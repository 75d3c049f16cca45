import "../admin/form-preview.js"; // alone in the admin, which has the frame beside it
